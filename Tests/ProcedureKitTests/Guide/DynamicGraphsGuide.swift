import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// The code of the guide *Dynamic graphs*, compiled and run; `ProjectTests` compares the two.
@Suite(.timeLimit(.minutes(10))) struct DynamicGraphsGuide {
  struct Target: Sendable {
    var name: String
    var needs: [String] = []
  }

  struct Compile: Procedure {
    var target: Target
    func execute(_ libraries: [String]) async throws -> String { try await compile(target, linking: libraries) }
  }

  struct Crawl: Procedure {
    let seen: Seen
    func execute(_ page: String) async throws {
      let fetch = ProcedureTask("fetch") { (page: String) in try await links(on: page) }
      let found = try await fetch.timeout(.seconds(10)).retry(.immediate, maxAttempts: 2)(page)
      for link in found where await seen.insert(link) {
        ProcedureContext.current?.produce(ignoringErrors(), input: link)
      }
    }
  }

  actor Seen {
    private(set) var pages: Set<String> = []
    func insert(_ page: String) -> Bool { pages.insert(page).inserted }
  }

  private let targets = [
    Target(name: "app", needs: ["ui", "core"]), Target(name: "ui", needs: ["core"]), Target(name: "core"),
  ]
  private let products = ["app": "app[ui[core[]], core[]]", "ui": "ui[core[]]", "core": "core[]"]

  @Test("A graph is made from items")
  func items() async throws {
    let (queue, expected) = (ProcedureQueue("build", maxConcurrentProcedures: 2, clock: VirtualClock()), products)
    let build = try ProcedureGraph("build", targets, id: \.name, needs: \.needs) { target, libraries in
      try await compile(target, linking: libraries)
    }
    let products = try await queue.run(build)  // the values of all items, by ID
    #expect(products == expected)
    let overnight = build.maxConcurrentNodes(2).onFailure(.collect).timeout(.seconds(3600))
    #expect(try await queue.run(overnight) == expected)
  }

  @Test("Each item can have modifiers")
  func modifiers() async throws {
    let memory = Resource("memory", capacity: 8)
    let careful = try ProcedureGraph("build", targets, id: \.name, needs: \.needs) { target in
      Compile(target: target).timeout(.seconds(60)).retry(.immediate, maxAttempts: 2).uses(memory, units: target.weight)
    }
    #expect(try await ProcedureQueue("build", clock: VirtualClock()).run(careful) == products)
  }

  @Test("Errors in the data are listed in one error")
  func errors() {
    var messages: [String] = []
    let targets = [
      Target(name: "app", needs: ["ui", "core"]), Target(name: "ui", needs: ["app"]), Target(name: "tool"),
      Target(name: "tool"),
    ]
    do {
      _ = try ProcedureGraph("build", targets, id: \.name, needs: \.needs) { target, _ in target.name }
    } catch {
      for cycle in error.cycles { messages.append("cycle: \(cycle.joined(separator: " → "))") }
      for unknown in error.unknownNeeds { messages.append("\(unknown.item) needs \(unknown.need), which is missing") }
      for id in error.duplicates { messages.append("\(id) occurs twice") }
    }
    #expect(messages == ["cycle: app → ui", "app needs core, which is missing", "tool occurs twice"])
  }

  @Test("A node can make a graph from items that become known during the run")
  func body() async throws {
    let make = ProcedureTask("make") { (file: String) in
      let targets = try await read(file)
      let build = try ProcedureGraph(file, targets, id: \.name, needs: \.needs) { target, libraries in
        try await compile(target, linking: libraries)
      }
      return try await build()
    }
    #expect(try await ProcedureQueue("q", maxConcurrentProcedures: 1).run(make, input: "a b c")["c"] == "c[b[a[]]]")
  }

  @Test("A body can add the work that it finds")
  func crawl() async throws {
    let seen = Seen()
    try await ProcedureQueue("q", maxConcurrentProcedures: 2).run(Crawl(seen: seen), input: "0")
    #expect(await seen.pages == ["0", "1", "2", "3", "4"])
  }
}

extension DynamicGraphsGuide.Target {
  fileprivate var weight: Int { needs.count + 1 }
}

private func compile(_ target: DynamicGraphsGuide.Target, linking libraries: [String]) async throws -> String {
  "\(target.name)[\(libraries.joined(separator: ", "))]"
}

/// A chain of targets.
private func read(_ file: String) async throws -> [DynamicGraphsGuide.Target] {
  let names = file.split(separator: " ").map(String.init)
  return zip(names, [nil] + names).map { DynamicGraphsGuide.Target(name: $0, needs: $1.map { [$0] } ?? []) }
}

private func links(on page: String) async throws -> [String] {
  Int(page).map { ["\($0 * 2 % 5)", "\(($0 + 1) % 5)"] } ?? []
}
