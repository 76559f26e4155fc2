/// A double-ended queue. Removing an element from either end takes amortized O(1) time and releases the element immediately.
///
/// The type is `package` because `ProcedureKitFoundation` uses it.
package struct Deque<Element: Sendable>: Sendable {
  private static var minimumToCompact: Int { 64 }

  /// The elements. Each `nil` at the front takes the place of a removed element.
  private var elements: ContiguousArray<Element?> = []
  /// The number of unused places at the front of `elements`.
  private var taken = 0

  package init() {}

  var isEmpty: Bool { taken == elements.count }
  package var count: Int { elements.count - taken }
  var first: Element? { isEmpty ? nil : elements[taken] }
  /// The elements in order.
  ///
  /// - Complexity: O(n) for n elements.
  var all: [Element] { elements[taken...].compactMap(\.self) }

  package mutating func append(_ element: Element) { elements.append(element) }

  mutating func prepend(_ element: Element) {
    if taken == 0 { return elements.insert(element, at: 0) }
    taken -= 1
    elements[taken] = element
  }

  package mutating func popFirst() -> Element? {
    guard !isEmpty else { return nil }
    defer { releaseTaken() }
    taken += 1
    return elements[taken - 1].take()
  }

  mutating func popLast() -> Element? { isEmpty ? nil : elements.removeLast() }

  mutating func filter(_ isKept: (Element) -> Bool) { (elements, taken) = (ContiguousArray(all.filter(isKept)), 0) }

  /// Releases the memory of the unused places if they outnumber the elements.
  private mutating func releaseTaken() {
    guard taken > Self.minimumToCompact, 2 * taken > elements.count else { return }
    elements.removeFirst(taken)
    taken = 0
  }
}
