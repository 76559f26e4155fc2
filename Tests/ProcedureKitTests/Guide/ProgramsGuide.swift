import ProcedureKit
import Testing
import TestingProcedureKit

/// The code of the guide *Six programs*, compiled and run; `ProjectTests` compares the two.
@Suite(.timeLimit(.minutes(10))) struct ProgramsGuide {
  // MARK: A crawler

  struct Page: Hashable, Sendable {
    var host: String
    var path: Int
  }

  /// Three hosts with 40 pages each; each page has links to other hosts, and one page is broken.
  actor Web {
    struct Broken: Error {}
    private(set) var visits: [Page: Int] = [:]
    private var reading: [String: Int] = [:]
    private(set) var mostOfHost = 0

    func links(on page: Page) async throws -> [Page] {
      visits[page, default: 0] += 1
      reading[page.host, default: 0] += 1
      mostOfHost = max(mostOfHost, reading[page.host] ?? 0)
      await Task.yield()
      reading[page.host, default: 0] -= 1
      if page.path == 7 { throw Broken() }
      return ["a", "b", "c"].flatMap { host in
        [2 * page.path, 2 * page.path + 1].filter { $0 < 40 }.map { Page(host: host, path: $0) }
      }
    }
  }

  actor Index {
    private(set) var known: Set<Page> = []
    func isNew(_ page: Page) -> Bool { known.insert(page).inserted }
  }

  struct Visit: Procedure {
    var web: Web
    var index: Index

    func execute(_ page: Page) async throws {
      for link in try await web.links(on: page) where await index.isNew(link) {
        ProcedureContext.current?.queue?.add(following(link), input: link)
      }
    }

    /// The procedure for a page: its key is the host.
    func following(_ page: Page) -> ProcedureTask<Page, Void?> {
      timeout(.seconds(10)).retry(.exponential(from: .seconds(1)).jittered(), maxAttempts: 3)
        .replacingErrorsWithNil().keyed(by: page.host)
    }
  }

  @Test("A crawler visits every page, with a limit for each host")
  func crawler() async throws {
    try await exploreSchedules(3) { env in
      let (web, index) = (Web(), Index())
      let start = Page(host: "a", path: 1)
      var configuration = ProcedureQueue.Configuration("crawler", maxConcurrentProcedures: 16)
      configuration.fairness = .byKey
      configuration.maxConcurrentProceduresPerKey = 2
      configuration = env.adapted(configuration)
      try await withProcedureQueue(configuration) { queue in
        let visit = Visit(web: web, index: index)
        if await index.isNew(start) { queue.add(visit.following(start), input: start) }
      }
      let visits = await web.visits
      // 39 pages of each host, except those to which only the broken pages link.
      env.check(visits.filter { $0.key.path != 7 }.allSatisfy { $0.value == 1 })
      env.check(visits.filter { $0.key.path == 7 }.allSatisfy { $0.value == 3 })
      env.check(await visits.count == index.known.count)
      env.check(await web.mostOfHost <= 2)
    }
  }

  // MARK: A build tool

  struct Target: Sendable {
    var name: String
    var needs: [String] = []
  }

  actor Store {
    private var products: [String: String] = [:]
    private(set) var compiled: [String] = []
    func product(of target: Target, with libraries: [String]) -> String? { products[target.name] }
    func compile(_ target: Target, _ libraries: [String]) -> String {
      compiled.append(target.name)
      products[target.name] = ([target.name] + libraries).joined(separator: "+")
      return products[target.name] ?? ""
    }
  }

  struct Compile: Procedure {
    var target: Target
    var store: Store
    func execute(_ libraries: [String]) async throws -> String { await store.compile(target, libraries) }
  }

  @Test("A build tool compiles each target once, after its dependencies")
  func buildTool() async throws {
    try await exploreSchedules(10) { env in
      let queue = env.makeQueue(maxConcurrentProcedures: 2)
      let store = Store()
      let targets = [
        Target(name: "App", needs: ["UI", "Core"]), Target(name: "UI", needs: ["Core"]), Target(name: "Core"),
      ]
      for round in 1...2 {
        let build = try ProcedureGraph("build", targets, id: \.name, needs: \.needs) { target in
          Compile(target: target, store: store).reusing("up to date") { libraries in
            await store.product(of: target, with: libraries)
          }
        }
        let products = try await queue.run(build)
        env.check(products["App"] == "App+UI+Core+Core", "round \(round)")
      }
      env.check(await store.compiled == ["Core", "UI", "App"])
      await queue.shutDown()
    }
  }

  // MARK: A job service

  struct JobService: Sendable {
    let jobs: ProcedureQueue
    let render = ProcedureTask("render") { (name: String) in "a picture of \(name)" }.timeout(.seconds(10))

    init() {
      var configuration = ProcedureQueue.Configuration("jobs", maxConcurrentProcedures: 8)
      configuration.maxWaitingProcedures = 100
      configuration.maxWaitingProceduresPerKey = 10
      configuration.fairness = .byKey
      jobs = ProcedureQueue(configuration)
    }

    func respond(to request: String, from tenant: String) async -> (status: Int, text: String) {
      let job: ProcedureHandle<String>
      do throws(ProcedureError) {
        job = try jobs.tryAdd(render.keyed(by: tenant), input: request)
      } catch {
        return error.key != nil ? (429, "You have too many jobs.") : (503, "Try again later.")
      }
      switch await job.outcome {
      case .finished(let picture): return (200, picture)
      case .failed, .cancelled, .ignored: return (500, "The picture could not be rendered.")
      }
    }

    func stop() async { await jobs.shutDown(grace: .seconds(20)) }
  }

  @Test("A job service refuses jobs when its queue is full")
  func jobService() async throws {
    let service = JobService()
    let response = await service.respond(to: "a kitten", from: "acme")
    #expect(response.status == 200)
    #expect(response.text == "a picture of a kitten")
    await service.stop()
    #expect(await service.respond(to: "a kitten", from: "acme").status == 503)
  }

  // MARK: A pipeline

  actor Sink {
    private(set) var rows: [Int] = []
    func write(_ row: Int) { rows.append(row) }
  }

  @Test("A pipeline writes the results of a stream in order")
  func pipeline() async throws {
    try await exploreSchedules(10) { env in
      let queue = env.makeQueue()
      let sink = Sink()
      let parse = ProcedureTask("parse") { (record: String) in record.count }
      let (records, continuation) = AsyncStream<String>.makeStream()
      for count in 1...40 { continuation.yield(String(repeating: "x", count: count)) }
      continuation.finish()
      for try await row in queue.results(of: parse, over: records, maxConcurrentElements: 8) {
        await sink.write(row)
      }
      env.check(await sink.rows == Array(1...40))
      await queue.shutDown()
    }
  }

  // MARK: A durable job

  actor Journal {
    private var values: [String: Int] = [:]
    private(set) var records: [String] = []
    func record(_ value: Int, of step: String) {
      values[step] = value
      records.append(step)
    }
    func value(of step: String) -> Int? { values[step] }
  }

  /// Fails the first time.
  actor Shipment {
    struct Lost: Error {}
    private var attempts = 0
    func send(_ value: Int) throws -> Int {
      attempts += 1
      if attempts == 1 { throw Lost() }
      return value * 10
    }
  }

  private let journal = Journal()

  func step(_ name: String, _ body: @escaping @Sendable (Int) async throws -> Int) -> ProcedureTask<Int, Int> {
    let journal = journal
    return ProcedureTask(name) { input in
      let value = try await body(input)
      await journal.record(value, of: name)
      return value
    }.reusing("journal") { _ in await journal.value(of: name) }
  }

  @Test("A durable job continues after a failure without repeating its steps")
  func durableJob() async throws {
    let queue = ProcedureQueue("jobs")
    let shipment = Shipment()
    let job = step("charge") { $0 + 1 }.then(step("ship") { try await shipment.send($0) }).then(
      step("thank") { $0 * 2 })
    await #expect(throws: Shipment.Lost.self) { try await queue.run(job, input: 1) }
    #expect(await journal.records == ["charge"])
    let result = try await queue.run(job, input: 1)
    #expect(result == 40)
    #expect(await journal.records == ["charge", "ship", "thank"])
  }
}
