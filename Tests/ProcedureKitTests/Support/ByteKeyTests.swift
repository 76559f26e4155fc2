import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

/// Tests two spellings of one text, which are equal according to Swift's `==`.
private let composed = "caf\u{e9}"
private let decomposed = "cafe\u{301}"

@Suite(.timeLimit(.minutes(10))) struct ByteKeyTests {
  @Test("Two spellings of a category are two resources, and so are two spellings of a resource's name")
  func resources() async throws {
    let table = ResourceTable()
    let queue = ProcedureQueue("q", resources: table)
    let both = ProcedureTask("both") { table.count }.exclusive(composed, decomposed)
    #expect(try await queue.run(both) == 2)
    let shared = ProcedureTask("shared") { table.count }.shared(composed).exclusive(decomposed)
    #expect(try await queue.run(shared) == 2)
    let units = ProcedureTask("units") { table.count }
      .uses(Resource(composed, capacity: 4)).uses(Resource(decomposed, capacity: 3))
    #expect(try await queue.run(units) == 2)
    #expect(Resource(composed, capacity: 4) != Resource(decomposed, capacity: 4))
  }

  @Test("A capacity that was set belongs to one spelling of the name")
  func capacity() async throws {
    let table = ResourceTable()
    table.setCapacity(1, of: Resource(decomposed, capacity: 4))
    let task = ProcedureTask("units") {}.uses(Resource(composed, capacity: 4), units: 3)
    try await ProcedureQueue("q", resources: table).run(task)
  }

  @Test("Two spellings of a key have separate limits")
  func keyed() async throws {
    var configuration = ProcedureQueue.Configuration("q", isSuspended: true)
    configuration.maxWaitingProceduresPerKey = 1
    let queue = ProcedureQueue(configuration)
    let first = queue.add(ProcedureTask("a") { 1 }.keyed(by: composed))
    let second = queue.add(ProcedureTask("b") { 2 }.keyed(by: decomposed))
    queue.resume()
    #expect(try await (first.value, second.value) == (1, 2))
  }

  @Test("An execution is not shared between two spellings of a key")
  func coalesced() async throws {
    let inner = ProcedureTask("p") { decomposed }.coalesced(by: decomposed)
    let outer = ProcedureTask("p") { [composed, try await inner()] }.map { $0[1] }.coalesced(by: composed)
    #expect(Array(try await outer().utf8) == Array(decomposed.utf8))
  }

  @Test("A key of a user-defined type is compared with the user's ==")
  func ofUser() {
    struct Loose: Hashable, Sendable {
      let text: String
    }
    #expect(InternedKey.of(Loose(text: composed)) == InternedKey.of(Loose(text: decomposed)))
    #expect(InternedKey.of(1) == InternedKey.of(1))
    #expect(InternedKey.of(composed) != InternedKey.of(decomposed))
    #expect(InternedKey.of(composed) == InternedKey.of("caf" + "\u{e9}"))
    // A part of a text is the same key as a text with the same bytes.
    #expect(InternedKey.of(Substring(composed)) == InternedKey.of(composed))
    #expect(InternedKey.of("a \(composed)".dropFirst(2)) == InternedKey.of(composed))
    #expect(InternedKey.of(Substring(decomposed)) != InternedKey.of(Substring(composed)))
  }

  @Test("A need matches an ID by its bytes, and IDs that would be one key of the graph's value are refused")
  func items() async throws {
    func graph(_ items: [(id: String, needs: [String])]) throws -> ProcedureGraph<Void, [String: Int]> {
      try ProcedureGraph("g", items, id: \.id, needs: \.needs) { _, values in values.reduce(1, +) }
    }
    let other = #expect(throws: GraphItemsError<String>.self) { try graph([(composed, []), ("b", [decomposed])]) }
    #expect(other?.unknownNeeds.map { Array($0.need.utf8) } == [Array(decomposed.utf8)])
    let twice = #expect(throws: GraphItemsError<String>.self) { try graph([(composed, []), (decomposed, [])]) }
    #expect(twice?.duplicates.count == 1)
    #expect(
      try await ProcedureQueue("q").run(try graph([(composed, []), ("b", [composed])])) == [composed: 1, "b": 2])
  }

  @Test("Items whose IDs compare bytes can be named by two spellings of a text")
  func byteItems() async throws {
    let ids = [composed, decomposed].map(ByteText.init)
    let graph = try ProcedureGraph(
      ids, id: \.self, needs: { $0 == ids[1] ? [ids[0]] : [] },
      operation: { id, values in id.text.utf8.count + values.reduce(0, +) })
    #expect(try await ProcedureQueue("q").run(graph) == [ids[0]: 5, ids[1]: 11])
  }

  @Test("Texts are ordered by their bytes, and the hash differs for spellings and for limits between texts")
  func text() {
    #expect(
      ByteText(decomposed) < ByteText(composed) && ByteText("") < ByteText("\0") && ByteText("a") < ByteText("ab"))
    #expect(ByteText(composed) == ByteText(composed) && ByteText("a\0") != ByteText("a"))
    #expect(Set([composed, decomposed, "e\u{323}\u{307}", "e\u{307}\u{323}"].map(ByteText.init)).count == 4)
    #expect(decomposed.precedes(composed) && !composed.precedes(decomposed) && !composed.precedes(composed))
  }
}
