/// A declaration, and as much of it as can be read without a compiler.
struct Declaration: Sendable {
  enum Kind: String, CaseIterable, Sendable {
    case `actor`, `associatedtype`, `case`, `class`, `deinit`, `enum`, `extension`, `func`, `import`, `init`, `let`
    case `protocol`, `struct`, `subscript`, `typealias`, `var`

    /// Whether it gives a new name to a type.
    var namesType: Bool { [.actor, .class, .enum, .protocol, .struct, .typealias].contains(self) }

    /// Whether other types can be declared inside it.
    var holdsMembers: Bool { [.actor, .class, .enum, .extension, .protocol, .struct].contains(self) }
  }

  let kind: Kind
  /// What it is called; an extension, what it extends (`ProcedureQueue.State`).
  let name: String
  /// Of a type or an extension, its name and those of the types around it; of a member, those of the types around it.
  let typePath: [String]
  /// Where the declaration around it stands in the file's list.
  let parent: Int?
  let modifiers: [String]
  /// The names of its generic parameters, packs included.
  let genericParameters: [String]
  let isAsync: Bool
  let isThrowing: Bool
  /// Whether it stands in a function's body or in another place where members cannot be.
  let isLocal: Bool
  /// The line on which its attributes begin.
  let firstLine: Int
  /// The line of its keyword.
  let line: Int

  /// Whether it says `public` or `open` itself.
  var saysPublic: Bool { modifiers.contains("public") || modifiers.contains("open") }

  /// Whether no other file can see it.
  var isFilePrivate: Bool { modifiers.contains("private") || modifiers.contains("fileprivate") }
}
