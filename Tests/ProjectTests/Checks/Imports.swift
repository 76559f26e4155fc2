/// What each module may import.
enum Imports {
  /// Holds imports against what is allowed to each folder of `Sources`.
  static func findings(in files: [SourceFile], allowed: [String: Set<String>]) -> [Finding] {
    files.flatMap { file -> [Finding] in
      guard let allowed = allowed[String(file.components[1])] else {
        return [Finding(path: file.path, line: 1, message: "is in a module whose imports nobody has settled")]
      }
      return file.declarations.filter { $0.kind == .import && !allowed.contains(module($0)) }.map {
        Finding(path: file.path, line: $0.line, message: "imports \(module($0)), which its module does without")
      }
    }
  }

  private static func module(_ declaration: Declaration) -> String {
    declaration.name.split(separator: ".").first.map(String.init) ?? ""
  }
}
