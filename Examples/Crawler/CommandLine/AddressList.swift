import Foundation
import ProcedureKit
import ProcedureKitFoundation
import ProcedureKitNetwork

/// The addresses that the command line specifies, in order and without duplicates.
struct AddressList {
  private(set) var addresses: [URL] = []
  private var seen: Set<String> = []

  /// Collects addresses, and reads files that contain addresses. The file name `-` means standard input.
  ///
  /// - Throws: ``UsageError`` if an address is invalid, a file cannot be read, or there are no addresses.
  init(_ inputs: [SystemText]) throws(UsageError) {
    for input in inputs {
      if let address = input.string, address.contains("://") {
        try append(address, from: "the command line")
      } else {
        try read(input)
      }
    }
    if addresses.isEmpty { throw UsageError("the files contain no addresses") }
  }

  private mutating func read(_ path: SystemText) throws(UsageError) {
    var bytes: [UInt8] = []
    do {
      if path == "-" {
        try SystemFiles.read(STDIN_FILENO) { bytes += $0 }
      } else {
        bytes = try SystemFiles.contents(path)
      }
    } catch {
      let reason = (error as? POSIXError)?.reason ?? "\(error)"
      throw UsageError("\(path) could not be read: \(reason). An address starts with http:// or https://")
    }
    // Some editors write a byte order mark before the text.
    let mark: [UInt8] = [0xef, 0xbb, 0xbf]
    let lines = String(decoding: bytes.dropFirst(bytes.starts(with: mark) ? mark.count : 0), as: UTF8.self).split(
      omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (index, line) in lines.enumerated() {
      let line = line.trimmingCharacters(in: .whitespaces)
      if !line.isEmpty, !line.hasPrefix("#") { try append(line, from: "\(path):\(index + 1)") }
    }
  }

  private mutating func append(_ text: String, from place: String) throws(UsageError) {
    guard let url = URL(lenient: text),
      ["http", "https"].contains(url.scheme?.lowercased()), url.host?.isEmpty == false
    else { throw UsageError("\(place): '\(text)' is not an http or https address") }
    if seen.insert(url.absoluteString).inserted { addresses.append(url) }
  }
}
