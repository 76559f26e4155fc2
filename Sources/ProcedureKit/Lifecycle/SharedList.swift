import Synchronization

/// A list that shares its storage with the lists it was made from, so that appending n elements one by one costs O(n) in total.
struct SharedList<Element: Sendable>: Sendable {
  private final class Storage: Sendable {
    let elements: Mutex<[Element]>

    init(_ elements: [Element]) {
      self.elements = Mutex(elements)
    }
  }

  private var storage: Storage?
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// The elements, in the order in which they were appended. O(n).
  var elements: [Element] {
    guard let storage else { return [] }
    return storage.elements.withLock { $0.count == count ? $0 : Array($0.prefix(count)) }
  }

  mutating func append(_ element: Element) {
    let (former, count) = (storage, count)
    self.count += 1
    let isAppended =
      former?.elements.withLock { elements in
        // Another list may have grown from the same beginning.
        guard elements.count == count else { return false }
        elements.append(element)
        return true
      } ?? false
    if !isAppended { storage = Storage((former?.elements.withLock { Array($0.prefix(count)) } ?? []) + [element]) }
  }
}
