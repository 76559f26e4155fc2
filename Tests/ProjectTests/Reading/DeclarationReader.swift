/// Finds the declarations in a file's code: types at any depth, and the members of types.
///
/// It reads by shape, not by grammar. In the body of a function it looks for types and functions only.
struct DeclarationReader {
  let code: [Token]
  /// For each opening parenthesis, bracket and brace, where it closes.
  let closing: [Int: Int]
  private(set) var result = Declarations()

  private init(_ code: [Token]) {
    self.code = code
    closing = Self.pairs(in: code)
    result.enclosing = Array(repeating: nil, count: code.count)
  }

  /// Reads a file's tokens, from which the comments have been taken out.
  static func declarations(in code: [Token]) -> Declarations {
    var reader = DeclarationReader(code)
    reader.read(code.indices, parent: nil, isLocal: false)
    return reader.result
  }

  private static func pairs(in code: [Token]) -> [Int: Int] {
    var open: [Int] = []
    var pairs: [Int: Int] = [:]
    for (index, token) in code.enumerated() where token.kind == .symbol {
      switch token.text {
      case "(", "[", "{": open.append(index)
      case ")", "]", "}": if let start = open.popLast() { pairs[start] = index }
      default: break
      }
    }
    return pairs
  }

  private mutating func read(_ range: Range<Int>, parent: Int?, isLocal: Bool) {
    var index = range.lowerBound
    var start = index
    while index < range.upperBound {
      if let next = endOfModifier(at: index) {
        index = next
        continue
      }
      if let kind = kindOfDeclaration(at: index, parent: parent, isLocal: isLocal) {
        index = readDeclaration(kind, from: start, keyword: index, parent: parent, isLocal: isLocal)
      } else if code[index].matches("{") {
        let end = closing[index, default: range.upperBound]
        read((index + 1)..<max(end, index + 1), parent: parent, isLocal: true)
        index = end + 1
      } else {
        index += 1
      }
      start = index
    }
  }

  /// Adds one declaration with all that it contains.
  ///
  /// - Returns: the index of the first token that it has nothing to do with. A property's accessors are left to the
  ///   caller, as its initial value is.
  private mutating func readDeclaration(
    _ kind: Declaration.Kind, from start: Int, keyword: Int, parent: Int?, isLocal: Bool
  ) -> Int {
    let name = readName(of: kind, keyword: keyword)
    let generics = readGenericParameters(at: name.end)
    let signature = readSignature(from: generics.end, stopsAtAssignment: kind == .let || kind == .var)
    let effects =
      kind == .var || kind == .subscript
      ? accessorEffects(in: signature.body)
      : effects(in: generics.end..<signature.end)
    let outer = parent.map { result[$0].typePath } ?? []
    let own = kind.namesType || kind == .extension ? name.text.split(separator: ".").map(String.init) : []
    result.all.append(
      Declaration(
        kind: kind, name: name.text, typePath: outer + own, parent: parent, modifiers: modifiers(in: start..<keyword),
        genericParameters: generics.names, isAsync: effects.contains("async"), isThrowing: effects.contains("throws"),
        isLocal: isLocal, firstLine: code[start].line, line: code[keyword].line))
    if kind != .extension { result.names.insert(keyword + 1) }

    guard kind.namesType || kind.holdsMembers || [.func, .`init`, .subscript].contains(kind) else {
      return signature.end
    }
    let index = result.count - 1
    let end = signature.body.map { $0.upperBound + 1 } ?? signature.end
    for token in start..<min(end, code.count) { result.enclosing[token] = index }
    if let body = signature.body {
      read(body.dropFirst(), parent: index, isLocal: !kind.holdsMembers)
    }
    return end
  }
}
