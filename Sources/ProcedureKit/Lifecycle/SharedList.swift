/// A list that shares its storage with the lists it was made from.
///
/// The elements lie in arrays, each longer than the next one. Appending n elements one by one, with a copy of the list kept each time, costs
/// O(n log n) in total.
struct SharedList<Element: Sendable>: Sendable {
  private var parts: [[Element]] = []

  var isEmpty: Bool { parts.isEmpty }

  /// The elements, in the order in which they were appended. O(n).
  var elements: [Element] { parts.count == 1 ? parts[0] : Array(parts.joined()) }

  mutating func append(_ element: Element) {
    var last = [element]
    while let part = parts.last, part.count <= last.count {
      last = part + last
      parts.removeLast()
    }
    parts.append(last)
  }
}
