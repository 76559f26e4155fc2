import Foundation

/// The addresses that the command line names, each once, in order.
struct AddressList {
  private(set) var addresses: [URL] = []
  private var seen: Set<String> = []

  /// Reads addresses, and files with addresses; `-` is standard input.
  ///
  /// - Throws: ``UsageError``, with the place in the file.
  init(_ inputs: [String]) throws(UsageError) {
    for input in inputs {
      if input.contains("://") { try append(input, from: "the command line") } else { try read(input) }
    }
    if addresses.isEmpty { throw UsageError("the files name no address") }
  }

  private mutating func read(_ path: String) throws(UsageError) {
    let handle = path == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: path)
    guard let handle, let data = try? handle.readToEnd() ?? Data() else {
      throw UsageError("\(path): cannot be read, and is no address, which would begin with http:// or https://")
    }
    let lines = String(decoding: data, as: UTF8.self).split(
      omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (index, line) in lines.enumerated() {
      let line = line.trimmingCharacters(in: .whitespaces)
      if !line.isEmpty, !line.hasPrefix("#") { try append(line, from: "\(path):\(index + 1)") }
    }
  }

  private mutating func append(_ text: String, from place: String) throws(UsageError) {
    guard let url = URL(string: text, encodingInvalidCharacters: false),
      ["http", "https"].contains(url.scheme?.lowercased()), url.host?.isEmpty == false
    else { throw UsageError("\(place): '\(text)' is no http or https address") }
    if seen.insert(url.absoluteString).inserted { addresses.append(url) }
  }
}
