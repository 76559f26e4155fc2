import Testing

@testable import ProcedureKit

@Suite("LazyObject")
struct LazyObjectTests {
  private final class Holder: Sendable {
    let object: LazyObject<Tracked>

    init(_ object: Tracked? = nil) {
      self.object = LazyObject(object)
    }
  }

  @Test("An object is made when it is first asked for, is the same from then on, and ends with what it belongs to")
  func life() {
    let living = Box(0)
    do {
      let holder = Holder()
      #expect(holder.object.value == nil)
      let made = holder.object.made { Tracked(living) }
      #expect(holder.object.value === made)
      #expect(holder.object.made { Tracked(living) } === made)
      #expect(living.value == 1)
    }
    #expect(living.value == 0)
  }

  @Test("An object that is there from the beginning is kept, and nothing else is made")
  func given() {
    let living = Box(0)
    do {
      let holder = Holder(Tracked(living))
      let given = holder.object.value
      #expect(given != nil && holder.object.made { Tracked(living) } === given)
      #expect(living.value == 1)
    }
    #expect(living.value == 0)
  }

  @Test("Of two that are made at the same time the first stays, and the other ends at once")
  func race() {
    let living = Box(0)
    let holder = Holder()
    // Whoever makes the second finds that there is one by the time it has made it.
    let found = holder.object.made {
      _ = holder.object.made { Tracked(living) }
      return Tracked(living)
    }
    #expect(found === holder.object.value)
    #expect(living.value == 1)
  }

  @Test("Whoever asks, on whatever thread, finds the same object")
  func threads() async {
    let living = Box(0)
    for _ in 0..<100 {
      let holder = Holder()
      let found = await withTaskGroup(of: ObjectIdentifier.self) { group in
        for _ in 0..<4 { group.addTask { ObjectIdentifier(holder.object.made { Tracked(living) }) } }
        return await group.reduce(into: Set()) { $0.insert($1) }
      }
      #expect(found.count == 1 && living.value == 1)
    }
    #expect(living.value == 0)
  }
}
