/// What the documentation of a public declaration has to say. The rest is the formatter's business.
enum Documentation {
  static func findings(in files: [SourceFile]) -> [Finding] {
    files.flatMap { file in
      file.declarations.filter { file.declarations.isPublic($0) && $0.kind != .import && $0.kind != .extension }
        .flatMap { declaration in
          complaints(about: declaration, documentation: documentation(of: declaration, in: file)).map {
            Finding(path: file.path, line: declaration.line, message: "\(declaration.name) \($0)")
          }
        }
    }
  }

  /// What stands above a declaration, unless it stands above the one around it.
  private static func documentation(of declaration: Declaration, in file: SourceFile) -> String? {
    let parent = declaration.parent.map { file.declarations[$0] }
    return parent?.firstLine == declaration.firstLine ? nil : file.documentation(above: declaration.firstLine)
  }

  private static func complaints(about declaration: Declaration, documentation: String?) -> [String] {
    guard let documentation else { return ["is public and has no documentation"] }
    var complaints: [String] = []
    if declaration.isThrowing && !documentation.contains("- Throws:") {
      complaints.append("throws, and its documentation has no \"- Throws:\"")
    }
    if declaration.isAsync && !documentation.lowercased().contains("cancel") {
      complaints.append("is async, and its documentation does not say what cancelling the caller does")
    }
    return complaints
  }
}
