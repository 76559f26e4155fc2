import ProcedureKit
import ProcedureKitRemote
import TestSupport
import Testing
import TestingProcedureKit

private struct Photo: Codable, Hashable, Sendable {
  var name: String
}

private struct Thumbnail: Codable, Hashable, Sendable {
  var name: String
}

private struct ResizeImage: Procedure {
  var side: Int
  func execute(_ photo: Photo) async throws -> Thumbnail { Thumbnail(name: "\(photo.name), \(side)") }
}

extension RemoteSignature where Input == Photo, Output == Thumbnail {
  static var resize: Self { RemoteSignature("resize", version: 2, errors: [ResizeError.self]) }
}

/// The code of the guide *On other machines*, compiled and run; `ProjectTests` compares the two.
@Suite(.timeLimit(.minutes(10))) struct OnOtherMachinesGuide {
  struct ConnectionError: Error {}

  /// A server that is not there at first.
  struct Client: Sendable {
    let tries = Record<String>()

    func submit(_ procedure: String, key: String, _ input: [UInt8]) async throws -> Int {
      tries.append(key)
      if tries.values.count == 1 { throw ConnectionError() }
      return 1
    }

    func result(of id: Int) async throws -> [UInt8] { Array(#"{"name":"from a server"}"#.utf8) }
  }

  struct HTTPExecutor: ProcedureExecutor {
    let client: Client
    var payloadLimit: Int { 1_000_000 }

    func execute(_ call: RemoteCall) async throws -> [UInt8] {
      do {
        let id = try await client.submit(call.procedure.description, key: "\(call.key)", call.input)
        return try await client.result(of: id)
      } catch let error as ConnectionError {
        throw RemoteError(.connectionLost, procedure: call.procedure, reason: "\(error)")
      }
    }
  }

  @Test("A worker executes the nodes of a graph, and a name identifies the work")
  func graph() async throws {
    let engine = LocalEngine(clock: VirtualClock())
    let (executor, source) = (engine, engine)
    let graph = ProcedureGraph("thumbnails") { (g, photo: Node<Photo>) in
      let small = g.add(ResizeImage(side: 64).remote(on: executor, as: .resize), from: photo)
      return g.add("name", from: small) { $0.name }
    }
    let remote = ResizeImage(side: 64).remote(on: executor, as: .resize, key: { photo in "order 17, \(photo.name)" })
    let stubborn = remote.retry(.exponential(from: .seconds(1)), maxAttempts: 3) { error, _ in
      (error as? RemoteError)?.isTransient ?? true ? .retry : .stop
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        var registry = ProcedureRegistry()
        registry.register(ResizeImage(side: 64), as: .resize)
        let queue = ProcedureQueue("worker", maxConcurrentProcedures: 4)
        try await RemoteWorker(registry: registry, queue: queue).run(from: source)
      }
      let name = try await graph(Photo(name: "cat"))
      let thumbnail = try await stubborn(Photo(name: "tom"))
      #expect(name == "cat, 64" && thumbnail.name == "tom, 64")
      engine.finish()
      try await group.waitForAll()
    }
  }

  private struct Order: Codable, Sendable {
    var id: String
    var amount: Int
  }

  private struct Bank: Sendable {
    let keys = Record<String>()

    func charge(_ amount: Int, idempotencyKey: String) async throws -> Int {
      keys.append(idempotencyKey)
      return amount
    }
  }

  @Test("A body uses the key of the work for its effects, and reports progress")
  func effects() async throws {
    let bank = Bank()
    let charge = ProcedureTask("charge") { (order: Order) in
      let key = RemoteExecution.current?.key.description ?? order.id
      return try await bank.charge(order.amount, idempotencyKey: key)
    }
    var registry = ProcedureRegistry()
    registry.register(
      charge.onWillExecute { _ in
        RemoteExecution.current?.report(RemoteProgress(0.5, "half of the rows"))
      }, as: RemoteSignature("charge"))
    let progress = Record<RemoteProgress>()
    let remote = charge.remote(
      on: LocalExecutor(registry), as: RemoteSignature("charge"), key: { $0.id }, onProgress: { progress.append($0) })
    #expect(try await remote(Order(id: "17", amount: 5)) == 5)
    #expect(bank.keys.values == ["17/charge/1"] && progress.values == [RemoteProgress(0.5, "half of the rows")])
  }

  @Test("An adapter whose connection is lost once tries again")
  func adapter() async throws {
    let client = Client()
    let remote = ResizeImage(side: 64).remote(on: HTTPExecutor(client: client), as: .resize, key: { $0.name })
    #expect(try await remote(Photo(name: "cat")).name == "from a server")
    #expect(client.tries.values == ["cat/ResizeImage/1", "cat/ResizeImage/1"])
  }
}
