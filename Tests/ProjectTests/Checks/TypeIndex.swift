/// Which file declares which type, and what a name means at a given place.
///
/// A generic parameter, an associated type, a nested type or a local one hides a type of the same name at the top level.
struct TypeIndex {
  /// A type's name with those of the types around it, and the files that declare it.
  struct Match {
    let path: [String]
    let files: [String]
  }

  /// The files that declare a member type, by the path of the type around it and by name. At the top level: `[]`.
  private var types: [[String]: [String: [String]]] = [:]
  private var genericParameters: [[String]: Set<String>] = [:]
  private var associatedTypes: Set<String> = []
  private let modules: Set<String>

  /// Reads what these files declare; the modules' names may stand before a top-level type, `ProcedureKit.Node`.
  init(_ files: [SourceFile], modules: Set<String>) {
    self.modules = modules
    for file in files {
      for declaration in file.declarations where !declaration.isLocal {
        if declaration.kind == .associatedtype { associatedTypes.insert(declaration.name) }
        guard declaration.kind.namesType, !(declaration.isFilePrivate && declaration.parent == nil) else { continue }
        types[declaration.typePath.dropLast(), default: [:]][declaration.name, default: []].append(file.path)
        genericParameters[declaration.typePath, default: []].formUnion(declaration.genericParameters)
      }
    }
  }

  /// The type of these files that the code at `index` names, or `nil` when it names none.
  ///
  /// With its qualification: at `A` in `A.B` this is `A.B` if that is a type, and nothing at `B`.
  func type(at index: Int, in file: SourceFile) -> Match? {
    let code = file.code
    guard code[index].isWord, !file.declarations.names.contains(index) else { return nil }
    let isMember = index > 0 && code[index - 1].matches(".")
    if isMember {
      let isQualifiedByModule = index > 1 && modules.contains(code[index - 2].text)
      guard isQualifiedByModule, index < 3 || !code[index - 3].matches(".") else { return nil }
    }
    guard var match = isMember ? member(code[index].text, of: []) : unqualified(index, in: file) else { return nil }
    var next = index + 1
    while next + 1 < code.count, code[next].matches("."), let inner = member(code[next + 1].text, of: match.path) {
      match = inner
      next += 2
    }
    return match
  }

  private func member(_ name: String, of path: [String]) -> Match? {
    types[path]?[name].map { Match(path: path + [name], files: $0) }
  }

  private func unqualified(_ index: Int, in file: SourceFile) -> Match? {
    let name = file.code[index].text
    guard !associatedTypes.contains(name) else { return nil }
    for scope in file.declarations.around(token: index) {
      if scope.genericParameters.contains(name) { return nil }
      for length in stride(from: scope.typePath.count, to: 0, by: -1) {
        let path = Array(scope.typePath.prefix(length))
        if genericParameters[path]?.contains(name) == true { return nil }
        if let nested = member(name, of: path) { return nested }
      }
    }
    let isHidden = file.declarations.contains {
      $0.kind.namesType && $0.name == name && ($0.isLocal || ($0.isFilePrivate && $0.parent == nil))
    }
    return isHidden ? nil : member(name, of: [])
  }
}
