import ProcedureKit
import Testing
import TestingProcedureKit

/// The code of the README, compiled and run; `ProjectTests` compares the two.
@Suite(.timeLimit(.minutes(10))) struct ReadmeExamples {
  struct Image: Sendable {
    var side: Int
  }

  struct LoadImage: Procedure {
    func execute(_ path: String) async throws -> Image { Image(side: path.count * 100) }
  }

  struct ResizeImage: Procedure {
    var side: Int
    func execute(_ image: Image) async throws -> Image { Image(side: min(side, image.side)) }
  }

  let isOnline = Condition("online") { true }

  @Test("A first procedure")
  func firstProcedure() async throws {
    let greet = ProcedureTask("greet") { (name: String) in "Hello, \(name)!" }
    let patient = greet.timeout(.seconds(5)).retry(.exponential(from: .milliseconds(100)).jittered(), maxAttempts: 4)
    let polite = patient.condition(isOnline).map { $0 + " How do you do?" }.recover { _ in "Hello?" }

    let queue = ProcedureQueue("greetings", maxConcurrentProcedures: 4)
    let greeting = try await queue.run(polite, input: "kitten")  // in this task, cancelled with it
    let handle = queue.add(greet, input: "cat")  // outlives this task
    let other = try await handle.value
    #expect([greeting, other] == ["Hello, kitten! How do you do?", "Hello, cat!"])
  }

  @Test("A graph")
  func graph() async throws {
    let queue = ProcedureQueue("images", maxConcurrentProcedures: 4)
    let thumbnails = ProcedureGraph("thumbnails") { (g, path: Node<String>) in
      let photo = g.add(LoadImage(), from: path)
      let small = g.add(ResizeImage(side: 64), from: photo)
      let large = g.add(ResizeImage(side: 512), from: photo)
      return g.add("pack", from: small, large) { small, large in [small, large] }
    }
    let images = try await queue.run(thumbnails, input: "kitten.ppm")
    #expect(images.map(\.side) == [64, 512])
  }

  @Test("An event loop")
  func events() async throws {
    let queue = ProcedureQueue("watched")
    var lines: [String] = []
    let handle = queue.add(ResizeImage(side: 64), input: Image(side: 512))
    for await event in handle.events {
      switch event.step {
      case .willExecute(let attempt): lines.append("\(event.name) starts, attempt \(attempt)")
      case .didFinish(let outcome): lines.append("\(event.name) \(outcome)")
      default: break
      }
    }
    #expect(lines == ["ResizeImage starts, attempt 1", "ResizeImage finished"])
  }

  @Test("A queue")
  func queue() async throws {
    struct Download: Procedure {
      func execute(_ page: Int) async throws -> Int { page }
    }
    let total = try await withProcedureQueue(maxConcurrentProcedures: 2) { queue in
      let pages = (1...10).map { queue.add(Download(), input: $0) }
      let sum = queue.add(ProcedureTask { (a: Int, b: Int) in a + b }, from: pages[0], pages[1])
      let index = queue.add(ProcedureTask("index") {}, after: pages)
      queue.suspend()  // nothing starts; executing bodies continue
      queue.setMaxConcurrentProcedures(8)
      queue.resume()
      try await index.value
      return try await sum.value
    }  // returns when all added procedures have finished
    #expect(total == 3)
  }

  actor Disk {
    var free = 3
    func write() { free -= 1 }
  }

  @Test("What decides when it starts")
  func admission() async throws {
    let disk = Disk()
    struct Save: Procedure {
      let disk: Disk
      func execute(_ page: Int) async throws { await disk.write() }
      init(on disk: Disk) { self.disk = disk }
    }
    let queue = ProcedureQueue("disk")

    let hasSpace = Condition("has space") { await disk.free > 0 }  // false: ignored, throws: failed
    let save = Save(on: disk).condition(hasSpace).exclusive("disk")  // one at a time, on any queue
    let saves = (1...3).map { queue.add(save, input: $0) }
    queue.cancelAll()  // cancels waiting and executing procedures; later ones execute

    var cancelled = 0
    for save in saves where await save.outcome.isCancelled { cancelled += 1 }
    #expect(await disk.free >= cancelled)
  }

  @Test("C1: of a cancellation and a finish, the first decides, in every order")
  func cancelOrFinish() async throws {
    try await exploreRace("finished", "cancelled") { env in
      let queue = env.makeQueue()
      let handle = queue.add(ProcedureTask { 42 })
      async let cancel: Void = handle.cancel()
      let outcome = await handle.outcome
      env.check(outcome.isFinished(42) || outcome.isCancelled, "\(outcome)")
      env.tally(outcome.isFinished ? "finished" : "cancelled")
      await cancel
      await queue.shutDown()
    }
  }
}
