// How the reader finds a declaration's name, generic parameters, effects and body.

extension DeclarationReader {
  func readName(of kind: Declaration.Kind, keyword: Int) -> (text: String, end: Int) {
    var end = keyword + 1
    switch kind {
    case .`init`, .deinit, .subscript:
      while let token = token(end), ["?", "!"].contains(token.text) { end += 1 }
      return (kind.rawValue, end)
    case .func where token(end)?.kind == .symbol:
      // An operator. Its generic parameters begin at the bracket that a word follows.
      end += 1
      while let token = token(end), token.kind == .symbol, token.text != "(" {
        if token.text == "<" && self.token(end + 1)?.isWord == true { break }
        end += 1
      }
    case .extension, .import:
      end += 1
      while token(end)?.matches(".") == true { end += 2 }
    default:
      end += 1
    }
    end = min(end, code.count)
    return (code[(keyword + 1)..<end].map(\.text).joined(), end)
  }

  func readGenericParameters(at start: Int) -> (names: [String], end: Int) {
    guard token(start)?.matches("<") == true else { return ([], start) }
    var names: [String] = []
    var depth = 0
    var index = start
    var expectsName = false
    while let token = token(index) {
      switch token.text {
      case "<":
        depth += 1
        expectsName = depth == 1
      case ">":
        depth -= 1
      case "(", "[":
        index = closing[index, default: index]
      case ",":
        expectsName = depth == 1
      case "each", "let":
        break
      default:
        if expectsName { names.append(token.text) }
        expectsName = false
      }
      index += 1
      if depth == 0 { break }
    }
    return (names, index)
  }

  /// Finds where a signature ends and which braces follow it, the opening one included and the closing one not.
  func readSignature(from start: Int, stopsAtAssignment: Bool) -> (body: Range<Int>?, end: Int) {
    var index = start
    while let token = token(index) {
      switch token.text {
      case "(" where token.kind == .symbol, "[" where token.kind == .symbol:
        index = closing[index, default: index]
      case "{" where token.kind == .symbol:
        return (index..<max(closing[index, default: code.count], index + 1), index)
      case "}", ";":
        return (nil, index)
      case "=" where stopsAtAssignment:
        return (nil, index)
      default:
        if beginsAfresh(index) { return (nil, index) }
      }
      index += 1
    }
    return (nil, min(index, code.count))
  }

  /// The effects that stand between the parameters and the result; those of parameters and results do not count.
  func effects(in range: Range<Int>) -> Set<String> {
    var effects: Set<String> = []
    var index = range.lowerBound
    while index < range.upperBound, !code[index].matches("->"), !code[index].matches("where") {
      if code[index].matches("(") { index = closing[index, default: index] }
      let neverThrows = token(index + 1)?.matches("(") == true && token(index + 2)?.matches("Never") == true
      if code[index].kind == .word && !(code[index].text == "throws" && neverThrows) {
        effects.insert(code[index].text)
      }
      index += 1
    }
    return effects
  }

  /// The effects of an explicit `get`, the first accessor between the braces.
  func accessorEffects(in body: Range<Int>?) -> Set<String> {
    guard let body else { return [] }
    var index = body.lowerBound + 1
    while let next = endOfModifier(at: index) { index = next }
    guard token(index)?.matches("get") == true else { return [] }
    let end = (index..<body.upperBound).first { ["{", "set", ";"].contains(code[$0].text) } ?? body.upperBound
    return effects(in: index..<end)
  }
}
