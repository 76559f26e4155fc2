import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// The code of the guide *Admission*, compiled and run; `ProjectTests` compares the two.
@Suite(.timeLimit(.minutes(10))) struct AdmissionGuide {
  struct Page: Sendable {
    var text: String
  }

  struct Print: Procedure {
    func execute(_ page: Page) async throws {}
  }

  actor Link {
    private(set) var isUp = false
    func connect() { isUp = true }
  }

  actor Log {
    private(set) var lines: [String] = []
    func note(_ line: String) { lines.append(line) }
  }

  @Test("A procedure can wait for everything at once")
  func everything() async throws {
    let (link, log) = (Link(), Log())
    let pages = ProcedureTask("pages") { Page(text: "a kitten") }

    let isOnline = Condition("online") {
      await link.connect()  // prepare: establishes the state
    } evaluate: {
      await link.isUp  // true: continues; false: ignored; throws: failed
    }
    let printing = Print()
      .condition(isOnline)
      .exclusive("printer")
      .uses(Resource("paper", capacity: 500), units: 2)
      .onWillExecute { page in await log.note("prints \(page.text)") }

    let queue = ProcedureQueue("office", maxConcurrentProcedures: 2)
    let page = queue.add(pages)
    let printed = queue.add(printing, from: page)
    try await printed.value
    #expect(await log.lines == ["prints a kitten"])
  }

  @Test("A snapshot describes each wait")
  func snapshot() async throws {
    enum Device { case printer }
    let queue = ProcedureQueue("office", maxConcurrentProcedures: 2)
    let (printing, scanning, online) = (ProbeProcedure("print"), ProbeProcedure("scan"), ConditionProbe("online"))
    let print = queue.add(printing.exclusive(Device.printer))
    try await printing.waitUntilStarted()
    let copy = queue.add(ProcedureTask("copy") {}.exclusive(Device.printer))
    // It comes after the copy, so the copy has claimed the printer by the time it executes.
    try await queue.run(ProcedureTask {})
    let scan = queue.add(scanning)
    try await scanning.waitUntilStarted()
    let fax = queue.add(ProcedureTask("fax") {})
    let mail = queue.add(ProcedureTask("mail") {}.condition(.probe(online)))
    try await online.waitUntilEvaluated()
    let bill = queue.add(ProcedureTask("bill") {}, after: [print, mail])

    #expect(
      "\(queue.snapshot())" == """
        queue "office": 2 slots in use
          \(print.identity) executing
          \(copy.identity) waiting, waits for "printer", which \(print.identity) holds
          \(scan.identity) executing
          \(fax.identity) waiting, waits for a slot
          \(mail.identity) evaluating, waits for its condition "online"
          \(bill.identity) pending, waits for \(print.identity) and \(mail.identity) to finish
        """)
    online.satisfyAll()
    printing.finishAll()
    scanning.finishAll()
    try await bill.value
    await queue.shutDown()
  }

  @Test("A snapshot shows why a queue makes no progress")
  func stall() async throws {
    let (hasReported, gate, clock) = (Signal(), Signal(), VirtualClock())
    let lines = Box<[String]>([])
    let log: @Sendable (String) -> Void = { line in
      lines.update { $0.append(line) }
      hasReported.set()
    }
    var configuration = ProcedureQueue.Configuration("office", maxConcurrentProcedures: 1)
    configuration.stallTimeout = .seconds(60)
    configuration.onStall = { snapshot in log("\(snapshot)") }
    configuration.clock = clock
    let queue = ProcedureQueue(configuration)
    let print = queue.add(ProcedureTask("print") { await gate.wait() })
    let copy = queue.add(ProcedureTask("copy") {})
    try await clock.nextSleep()
    try await eventually {
      clock.advance(by: .seconds(60))
      return hasReported.isSet
    }
    gate.set()
    try await copy.value
    #expect(
      lines.value == [
        """
        queue "office": 1 slot in use
          \(print.identity) executing
          \(copy.identity) waiting, waits for a slot
        """
      ])
  }

  struct Customer: Hashable, Sendable {
    var name: String
  }

  struct Order: Sendable {
    var customer: Customer
    var number: Int
  }

  struct Refused: Error {}

  @Test("A graph excludes its customer's other orders while a step pauses, and a limit for each key does not")
  func orders() async throws {
    let (acme, zebra) = (Customer(name: "acme"), Customer(name: "zebra"))
    let orders = [
      Order(customer: acme, number: 1), Order(customer: acme, number: 2), Order(customer: zebra, number: 3),
    ]
    try await exploreSchedules(20) { env in
      let log = Log()
      // The first attempt of each payment fails.
      let pay = ProcedureTask("pay") { (order: Order) in
        await log.note("pay \(order.number)")
        guard ProcedureContext.current?.attempt == 2 else { throw Refused() }
        return order
      }
      let ship = ProcedureTask("ship") { (order: Order) in await log.note("ship \(order.number)") }
      let queue = env.makeQueue(maxConcurrentProcedures: 4)

      let process = ProcedureGraph("order") { (g, order: Node<Order>) in
        let paid = g.add(pay.retry(.exponential(from: .seconds(1)), maxAttempts: 4), from: order)
        return g.add(ship, from: paid)
      }
      for order in orders {
        queue.add(process.exclusive(order.customer), input: order)
      }
      await queue.shutDown()
      let lines = await log.lines
      env.check(lines.filter { !$0.hasSuffix("3") } == ["pay 1", "pay 1", "ship 1", "pay 2", "pay 2", "ship 2"])
      env.check(lines.firstIndex(of: "pay 3") ?? 6 < 3)

      let keyLog = Log()
      var configuration = ProcedureQueue.Configuration("keys", maxConcurrentProcedures: 4)
      configuration.maxConcurrentProceduresPerKey = 1
      let keys = ProcedureQueue(env.adapted(configuration))
      let attempt = ProcedureTask("pay") { (order: Order) in
        await keyLog.note("pay \(order.number)")
        guard ProcedureContext.current?.attempt == 2 else { throw Refused() }
      }.retry(.constant(.seconds(1)), maxAttempts: 4)
      for order in orders.prefix(2) { keys.add(attempt.keyed(by: order.customer), input: order) }
      await keys.shutDown()
      env.check(await keyLog.lines.prefix(2) == ["pay 1", "pay 2"])
    }
  }

  @Test("Nested runs can claim the resources of their body, and exclude each other")
  func nesting() async throws {
    let queue = ProcedureQueue("office")
    let monitor = ConcurrencyMonitor()
    let page = { @Sendable in await monitor.during { for _ in 0..<10 { await Task.yield() } } }
    let cover = ProcedureTask("cover") { await page() }.exclusive("printer")
    let inside = ProcedureTask("inside") { await page() }.exclusive("printer")

    let booklet = ProcedureTask("booklet") {
      async let first: Void = queue.run(cover)  // uses the booklet's printer
      async let second: Void = queue.run(inside)  // and excludes the cover
      _ = try await (first, second)
    }.exclusive("printer")
    try await queue.run(booklet)
    #expect(monitor.most == 1)
  }

  @Test("A wait cycle is refused")
  func circle() async throws {
    let queue = ProcedureQueue("office")
    var refusals: [String] = []

    let stuck = ProcedureTask("stuck") {
      // The added procedure is not a part of the body: it waits for the printer, and the holder of the printer waits for it.
      try await queue.add(ProcedureTask("later") {}.exclusive("printer")).value
    }.exclusive("printer")
    do {
      try await queue.run(stuck)
    } catch let error as ProcedureError where error.kind == .exclusionDeadlock {
      refusals.append("\(error)")  // names each wait, and the holder of each resource
    }
    #expect(refusals.count == 1)

    let starter = ProcedureTask("starter") {
      ProcedureContext.detached {
        _ = Task { try await queue.add(ProcedureTask("later") {}.exclusive("printer")).value }  // not a part either
      }
    }.exclusive("printer")
    try await queue.run(starter)
    await queue.shutDown()
  }

  @Test("A parent finishes after its produced children")
  func children() async throws {
    let queue = ProcedureQueue("office", maxConcurrentProcedures: 1)
    let log = Log()

    let book = ProcedureTask("book") {
      for _ in 1...3 {
        ProcedureContext.current?.produce(ProcedureTask("chapter") { await log.note("a chapter") })
      }
    }  // finishes after its chapters
    try await queue.run(book)
    #expect(await log.lines.count == 3)
  }

  @Test("A full queue replaces procedures, and callers can wait for room")
  func limits() async throws {
    let printing = ProbeProcedure("printing")

    var configuration = ProcedureQueue.Configuration("office", maxConcurrentProcedures: 1)
    configuration.maxWaitingProcedures = 2
    configuration.overflow = .replaceOldest
    let queue = ProcedureQueue(configuration)
    queue.add(printing)
    try await printing.waitUntilStarted()
    let preview = ProcedureTask("preview") {}.keyed(by: "preview")
    let outdated = queue.add(preview)
    queue.add(preview)
    queue.add(preview)  // the first one is cancelled: this one replaces it
    let patient = Task { try await queue.enqueue(ProcedureTask("report") {}) }  // added as soon as there is room
    #expect(await outdated.outcome.isCancelled)

    printing.finish()
    try await patient.value.value
    await queue.shutDown()
  }

  private struct Convert: Procedure {
    func execute(_ number: Int) async throws -> String { "\(number)" }
  }

  @Test("A caller can try to add a procedure, and shut down a queue with a grace period")
  func ending() async throws {
    var configuration = ProcedureQueue.Configuration("office", maxConcurrentProcedures: 1, isSuspended: true)
    configuration.maxWaitingProcedures = 1
    let queue = ProcedureQueue(configuration)
    @Sendable func convert(_ request: Int) throws -> ProcedureHandle<String> {
      let handle = try queue.tryAdd(Convert(), input: request)  // throws `queueFull` or `queueShutDown`
      return handle
    }
    let first = try convert(1)
    let error = #expect(throws: ProcedureError.self) { try convert(2) }
    #expect(error?.kind == .queueFull)

    queue.cancelWaiting()  // executing bodies and their parts continue
    await queue.shutDown(grace: .seconds(10))  // on the clock of the queue
    #expect(await first.outcome.isCancelled)
  }

  @Test("Tenants take turns, and have a limit")
  func tenants() async throws {
    var configuration = ProcedureQueue.Configuration("reports", maxConcurrentProcedures: 8)
    configuration.fairness = .byKey  // keys take turns among procedures of equal priority
    configuration.maxConcurrentProceduresPerKey = 2
    configuration.maxWaitingProceduresPerKey = 100
    let queue = ProcedureQueue(configuration)
    let report = ProcedureTask("report") { (tenant: String) in "The figures of \(tenant)" }
    let reports = ["acme", "acme", "acme", "zebra"].map { tenant in
      queue.add(report.keyed(by: tenant), input: tenant)  // zebra's report does not wait for acme's third
    }
    #expect(try await reports[3].value == "The figures of zebra")
    let tenants = ["acme", "acme", "acme", "zebra"]
    let each = ProcedureTask("each") { (tenant: String) in
      try await queue.run(report.keyed(by: tenant), input: tenant)
    }
    let figures = try await queue.map(tenants, with: each)  // at most two per tenant at a time
    let weights = ["acme": 3]  // three of acme's reports, then one from every other tenant
    let shares = ["acme", "zebra"].map { tenant in
      queue.add(report.keyed(by: tenant, weight: weights[tenant] ?? 1), input: tenant)
    }
    #expect(try await shares[1].value == "The figures of zebra")
    #expect(figures.last == "The figures of zebra")
    await queue.shutDown()
  }

  @Test("A procedure of low priority rises")
  func ageing() async throws {
    var configuration = ProcedureQueue.Configuration("backups", maxConcurrentProcedures: 2)
    configuration.ageingInterval = .seconds(30)
    let queue = ProcedureQueue(configuration)
    // After 90 seconds at the latest, the backup precedes procedures of priority `.high` that are added later.
    let backup = queue.add(ProcedureTask("backup", priority: .background) {})
    try await backup.value
    await queue.shutDown()
  }

  @Test("No authorization is requested while a slot is held")
  func capability() async throws {
    let camera = CapabilityProbe("camera")
    camera.grant()
    let queue = ProcedureQueue("photos", maxConcurrentProcedures: 1)

    let photograph = ProcedureTask("photograph") { "a kitten" }
      .condition(.authorized(for: camera))  // prompts the user, if necessary
    #expect(try await queue.run(photograph) == "a kitten")
  }
}
