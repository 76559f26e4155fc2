import ProcedureKit

/// Functions for paths, which are sequences of bytes and need not be UTF-8.
enum Paths {
  private static let slash = UInt8(ascii: "/")

  /// Converts a path to an absolute path without `.`, `..` or double slashes. Links are not followed.
  static func absolute(_ path: SystemText, in folder: SystemText) -> SystemText {
    var parts: [ArraySlice<UInt8>] = []
    let whole = path.bytes.first == slash ? path.bytes : folder.bytes + [slash] + path.bytes
    for part in whole.split(separator: slash) where !part.elementsEqual(".".utf8) {
      if part.elementsEqual("..".utf8) { _ = parts.popLast() } else { parts.append(part) }
    }
    return SystemText(bytes: [slash] + Array(parts.joined(separator: [slash])))
  }

  /// Returns the names along a path from the root.
  static func parts(of path: SystemText) -> [SystemText] {
    path.bytes.split(separator: slash).map { SystemText(bytes: $0) }
  }

  /// Returns a path as a user whose working directory is `folder` would write it.
  static func relative(_ path: SystemText, to folder: SystemText) -> SystemText {
    let start = folder.bytes + [slash]
    return path.bytes.starts(with: start) ? SystemText(bytes: path.bytes.dropFirst(start.count)) : path
  }
}
