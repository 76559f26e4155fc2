/// A reader finds a public type in the file of its name.
enum FileNames {
  static func findings(in files: [SourceFile]) -> [Finding] {
    files.flatMap { file in
      file.declarations
        .filter { $0.parent == nil && $0.saysPublic && $0.kind.namesType && !file.name.hasPrefix($0.name) }
        .map { declaration in
          Finding(
            path: file.path, line: declaration.line,
            message: "declares \(declaration.name), which belongs in \(declaration.name).swift")
        }
    }
  }
}
