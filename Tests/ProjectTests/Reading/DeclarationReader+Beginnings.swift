// How the reader knows that a declaration begins.

extension DeclarationReader {
  static let modifiers: Set = [
    "borrowing", "class", "consuming", "convenience", "distributed", "dynamic", "fileprivate", "final", "indirect",
    "infix", "internal", "isolated", "lazy", "mutating", "nonisolated", "nonmutating", "open", "optional", "override",
    "package", "postfix", "prefix", "private", "public", "required", "static", "unowned", "weak",
  ]

  func token(_ index: Int) -> Token? {
    code.indices.contains(index) ? code[index] : nil
  }

  /// Where the attribute or modifier ends that begins at `index`, or `nil` when none does.
  func endOfModifier(at index: Int) -> Int? {
    guard let token = token(index), self.token(index - 1)?.matches(".") != true else { return nil }
    var end = index + 1
    if token.matches("@") {
      end += 1
    } else if token.kind != .word || !Self.modifiers.contains(token.text) {
      return nil
    } else if token.text == "class" && !isModifiedByClass(index + 1) {
      return nil
    }
    if self.token(end)?.matches("(") == true { end = closing[end, default: end] + 1 }
    return end
  }

  /// Whether the token can follow `class` where that means "overridable static".
  private func isModifiedByClass(_ index: Int) -> Bool {
    guard let token = token(index), token.kind == .word else { return false }
    return ["func", "let", "subscript", "var"].contains(token.text) || Self.modifiers.contains(token.text)
  }

  func modifiers(in range: Range<Int>) -> [String] {
    range.filter { index in
      let isSetter = token(index + 1)?.matches("(") == true && token(index + 2)?.matches("set") == true
      return code[index].kind == .word && Self.modifiers.contains(code[index].text) && !isSetter
    }
    .map { code[$0].text }
  }

  func kindOfDeclaration(at index: Int, parent: Int?, isLocal: Bool) -> Declaration.Kind? {
    guard code[index].kind == .word, let kind = Declaration.Kind(rawValue: code[index].text),
      let next = token(index + 1), self.token(index - 1)?.matches(".") != true
    else { return nil }
    let begins =
      switch kind {
      case .actor: next.isWord && ["{", ":", "<", "where"].contains(token(index + 2)?.text) && next.text != "else"
      case .associatedtype, .class, .enum, .extension, .protocol, .struct, .typealias: next.isWord && !isImport(index)
      case .case: !isLocal && parent.map { result[$0].kind == .enum } == true
      case .deinit, .`init`, .let, .subscript, .var: !isLocal && !isImport(index)
      case .func: !isImport(index)
      case .import: !isLocal && parent == nil
      }
    return begins ? kind : nil
  }

  /// Whether the word names the kind of what is imported, as in `import struct Foundation.Date`.
  private func isImport(_ index: Int) -> Bool {
    token(index - 1)?.matches("import") == true
  }

  /// Whether the token cannot belong to the signature that stands before it.
  func beginsAfresh(_ index: Int) -> Bool {
    let token = code[index]
    guard token.line > code[index - 1].lastLine else { return false }
    return ["@", "#"].contains(token.text) || Self.modifiers.contains(token.text)
      || Declaration.Kind(rawValue: token.text) != nil
  }
}
