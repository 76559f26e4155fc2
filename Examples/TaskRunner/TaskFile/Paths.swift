/// Paths as texts.
enum Paths {
  /// Returns an absolute path without `.`, `..` and double slashes. Links are not followed.
  static func absolute(_ path: String, in folder: String) -> String {
    var parts: [Substring] = []
    for part in (path.hasPrefix("/") ? path : "\(folder)/\(path)").split(separator: "/") where part != "." {
      if part == ".." { _ = parts.popLast() } else { parts.append(part) }
    }
    return "/" + parts.joined(separator: "/")
  }

  /// Returns the folders around an absolute path, the innermost first.
  static func parents(of path: String) -> [String] {
    var (parents, rest): ([String], Substring) = ([], path[...])
    while let slash = rest.lastIndex(of: "/"), rest.count > 1 {
      rest = rest[..<slash]
      parents.append(rest.isEmpty ? "/" : String(rest))
    }
    return parents
  }

  /// Returns the path as a user of the folder writes it.
  static func relative(_ path: String, to folder: String) -> String {
    path.hasPrefix(folder + "/") ? String(path.dropFirst(folder.count + 1)) : path
  }
}
