/// A collection whose elements are identified by numbers. The number of an element is reused after the element is removed.
struct Slots<Element> {
  private var elements: ContiguousArray<Element> = []
  private var vacant: ContiguousArray<Int32> = []

  var count: Int { elements.count - vacant.count }

  subscript(number: Int32) -> Element {
    get { elements[Int(number)] }
    _modify { yield &elements[Int(number)] }
  }

  mutating func insert(_ element: Element) -> Int32 {
    guard let number = vacant.popLast() else {
      elements.append(element)
      return Int32(elements.count - 1)
    }
    elements[Int(number)] = element
    return number
  }

  mutating func remove(_ number: Int32) { vacant.append(number) }

  mutating func removeAll() { (elements, vacant) = ([], []) }

  /// Releases the memory if the collection is empty and has room for more than 1,024 elements. Returns whether memory was released.
  mutating func releaseMemory() -> Bool {
    guard count == 0, elements.count > 1_024 else { return false }
    removeAll()
    return true
  }
}

extension Slots: Sendable where Element: Sendable {}
