/// What a file declares, in the order of the text, and which declaration each piece of its code stands in.
struct Declarations: Sendable, RandomAccessCollection {
  var all: [Declaration] = []
  /// For each token of the code, the innermost declaration whose signature or body it stands in.
  var enclosing: [Int?] = []
  /// The tokens that are a declared name.
  var names: Set<Int> = []

  var startIndex: Int { all.startIndex }
  var endIndex: Int { all.endIndex }
  subscript(index: Int) -> Declaration { all[index] }

  /// The declarations around a token, the innermost first.
  func around(token: Int) -> [Declaration] {
    Array(
      sequence(state: enclosing[token]) { index in
        guard let current = index else { return nil }
        index = all[current].parent
        return all[current]
      })
  }

  /// Whether users of the module can name it: it says so, or belongs to a public enum or protocol.
  func isPublic(_ declaration: Declaration) -> Bool {
    guard !declaration.saysPublic else { return true }
    guard let parent = declaration.parent.map({ all[$0] }) else { return false }
    let inherits = parent.kind == .protocol || (parent.kind == .enum && declaration.kind == .case)
    return inherits && isPublic(parent)
  }
}
