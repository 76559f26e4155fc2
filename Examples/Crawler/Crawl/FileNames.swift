import Foundation

/// A generator of unique file names for addresses.
struct FileNames {
  private static let lengthLimit = 120
  private var taken: Set<String> = []
  /// The highest number used so far for each stem, so that a search for an unused number does not have to start from the beginning.
  private var numbers: [String: Int] = [:]

  /// Returns the name for an address, such as `example.org-kittens-1.html`. If another address already has this name, a number is appended.
  mutating func name(for address: URL) -> String {
    let text = address.hostAndPort + address.path + (address.query.map { "-\($0)" } ?? "")
    let allowed = text.map { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) ? $0 : "-" }
    let trimmed = String(allowed.prefix(Self.lengthLimit)).trimmingCharacters(in: CharacterSet(charactersIn: "-."))
    let stem = trimmed.isEmpty ? "page" : trimmed
    let key = stem.lowercased()
    var (name, number) = (stem, numbers[key] ?? 1)
    if number > 1 { name = "\(stem)-\(number)" }
    while !taken.insert(name.lowercased()).inserted {
      number += 1
      name = "\(stem)-\(number)"
    }
    numbers[key] = number
    return name
  }
}
