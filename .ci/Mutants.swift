// Makes mutants of sources: small mistakes, each of which is selected by a number when the program runs, so that all of them need one build.
//
// usage: mutants SEED COUNT REFUSED FILES…
//   SEED     the seed for choosing among all places
//   COUNT    the number of mutants
//   REFUSED  a file with lines FILE:LINE, the places that the compiler has rejected
//   FILES    the Swift sources to change
//
// Prints for each mutant its number, its file and line, its kind, and the original line. A line has at most one mutant, and stays one line.
import Foundation

struct SplitMix {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

/// A mistake in one line: `change` receives the call that returns whether the mistake is active.
struct Mistake {
  let kind: String
  let change: (String) -> String
}

/// The parts of a text between separators outside of brackets and literals; `nil` if the brackets do not match.
func parts(of text: Substring, separatedBy separator: Character) -> [Substring]? {
  var (depth, isInLiteral, isEscaped, start) = (0, false, false, text.startIndex)
  var parts: [Substring] = []
  for index in text.indices {
    let character = text[index]
    if isInLiteral {
      if character == "\"", !isEscaped { isInLiteral = false }
      isEscaped = character == "\\" && !isEscaped
      continue
    }
    switch character {
    case "\"": isInLiteral = true
    case "(", "[", "{": depth += 1
    case ")", "]", "}":
      depth -= 1
      if depth < 0 { return nil }
    case separator where depth == 0:
      parts.append(text[start..<index])
      start = text.index(after: index)
    default: break
    }
  }
  guard depth == 0, !isInLiteral else { return nil }
  return parts + [text[start...]]
}

func hasNoHooks(_ clause: Substring) -> Bool {
  let words = ["let ", "var ", "case ", "await ", "try ", "try? ", "#available", " in ", "inout "]
  return !words.contains { clause.contains($0) } && clause.contains { $0.isLetter }
}

/// The place of a condition in its line.
func condition(after keyword: String, in line: String) -> Range<String.Index>? {
  guard let start = line.range(of: keyword) else { return nil }
  for end in keyword == "guard " ? [" else {"] : [" {"] {
    // The brace that begins the block: the last one of a line that ends with it, otherwise the first one.
    let options: String.CompareOptions = line.hasSuffix(end) ? .backwards : []
    guard let found = line.range(of: end, options: options, range: start.upperBound..<line.endIndex) else { continue }
    let range = start.upperBound..<found.lowerBound
    if parts(of: line[range], separatedBy: ",") != nil { return range }
  }
  return nil
}

/// Whether a line is in an initializer, which the compiler requires to be complete.
func isInInitializer(_ index: Int, of lines: [String]) -> Bool {
  var depth = lines[index].prefix { $0 == " " }.count
  for line in lines[..<index].reversed() where !line.isEmpty {
    let indentation = line.prefix { $0 == " " }.count
    guard indentation < depth else { continue }
    // The end of a declaration of several lines: its beginning has the same indentation.
    depth = line.dropFirst(indentation).hasPrefix(")") ? indentation + 1 : indentation
    if line.contains("init(") || line.contains("deinit ") { return true }
    if line.contains("func ") || line.contains(" var ") || line.contains("subscript(") { return false }
  }
  return false
}

func mistakes(at index: Int, of lines: [String]) -> [Mistake] {
  let line = lines[index]
  let code = line.drop { $0 == " " }
  guard !code.hasPrefix("//"), !code.hasPrefix("@"), !line.contains("\"\"\""), !line.contains("precondition"),
    !line.contains("assert("),
    !isInInitializer(index, of: lines)
  else {
    return []
  }
  var found: [Mistake] = []

  for keyword in ["guard ", "if ", "while "] {
    let isStatement =
      code.hasPrefix(keyword) || code.hasPrefix("} else " + keyword) || (keyword == "if " && code.hasPrefix("else if "))
    guard isStatement, let place = line.range(of: keyword) else { continue }
    if code == "while true {" { continue }
    found.append(
      Mistake(kind: keyword + "is false") { line.replacingCharacters(in: place, with: "\(keyword)!\($0), ") })
    guard let range = condition(after: keyword, in: line) else { continue }
    let clauses = parts(of: line[range], separatedBy: ",") ?? []
    for clause in clauses where hasNoHooks(clause) && clause.startIndex >= range.lowerBound {
      let clauseRange = clause.drop { $0 == " " }.startIndex..<clause.endIndex
      let text = line[clauseRange]
      found.append(
        Mistake(kind: "negated: \(text)") { line.replacingCharacters(in: clauseRange, with: "\($0) != (\(text))") })
      // An endless loop is detected only by the time limit.
      if keyword == "while ", clauses.count == 1 { continue }
      found.append(
        Mistake(kind: "is true: \(text)") { line.replacingCharacters(in: clauseRange, with: "\($0) || (\(text))") })
      for (operation, other) in [(" < ", " <= "), (" > ", " >= "), (" <= ", " < "), (" >= ", " > ")]
      where text.contains(operation) && !text.contains("&&") && !text.contains("||") && !text.contains("?") {
        found.append(
          Mistake(kind: "\(other.dropFirst().dropLast()): \(text)") {
            line.replacingCharacters(
              in: clauseRange,
              with: "(\($0) ? (\(text.replacing(operation, with: other, maxReplacements: 1))) : (\(text)))")
          })
      }
    }
  }

  for value in ["true", "false"] where code.contains("return \(value)") && !code.contains("return \(value).") {
    found.append(
      Mistake(kind: "returns not \(value)") { line.replacing("return \(value)", with: "return \(value) != \($0)") })
  }
  for head in [": Bool { ", "-> Bool { "] {
    guard let start = line.range(of: head), line.hasSuffix(" }") else { continue }
    let range = start.upperBound..<line.index(line.endIndex, offsetBy: -2)
    guard hasNoHooks(line[range]), !line[range].hasPrefix("get") else { continue }
    found.append(
      Mistake(kind: "returns not") { line.replacingCharacters(in: range, with: "\($0) != (\(line[range]))") })
  }
  for step in [" += 1", " -= 1"] where code.hasSuffix(step) {
    found.append(Mistake(kind: "twice") { line.replacing(step, with: step.dropLast() + "(\($0) ? 2 : 1)") })
  }

  // A statement of one line is omitted. The only expression of a function is its value, and is kept. A discarded name does nothing.
  let keywords = [
    "let ", "var ", "return", "case ", "default", "guard ", "if ", "else", "for ", "while ", "func ", "}", "{", "defer",
    "switch ", "throw ",
    "do ", "repeat", "break", "continue", "fallthrough", "private", "public", "static", "mutating", "init", "deinit",
    ".", "?", "#", "import ",
    "struct", "final", "class", "enum", "extension", "nonisolated", "weak", "indirect", "typealias", "self.", "(self",
    "lazy", "actor", ")", "]",
    "catch", "internal", "package", "fileprivate", "protocol", "associatedtype", "|", "&", "+", "-", ":", "\"",
    "precondition", "fatalError",
  ]
  let (before, after) = (
    index > 0 ? lines[index - 1] : "", index + 1 < lines.count ? lines[index + 1].drop { $0 == " " } : ""
  )
  let isDiscard = code.hasPrefix("_ = ") && code.dropFirst(4).allSatisfy(\.isLetter)
  let isAssignment = [" = ", " += ", " -= ", " &+= ", " |= "].contains { code.contains($0) }
  let isCall = code.hasSuffix(")") || (code.hasSuffix("}") && code.contains(" { "))
  let isWhole =
    ["{", "}", " in", ":"].contains { before.hasSuffix($0) } || before.hasSuffix(")") || before.isEmpty
    || before.hasSuffix("return")
    || !["(", ",", "=", "?", "|", "&"].contains { before.hasSuffix($0) }
  let isOnly =
    (before.hasSuffix("{") || before.hasSuffix(" in") || before.hasSuffix(":"))
    && (after.hasPrefix("}") || after.hasPrefix("case ") || after.hasPrefix("default"))
  if isAssignment || isCall, !isDiscard, isWhole, !(isOnly && !isAssignment), !keywords.contains(where: { code.hasPrefix($0) }),
    !after.hasPrefix("."), !after.hasPrefix("?"), !after.hasPrefix("&&"), !after.hasPrefix("||"),
    parts(of: code, separatedBy: ",") != nil
  {
    found.append(Mistake(kind: "left out") { "if !\($0) { \(code) }" })
  }
  return found
}

let arguments = CommandLine.arguments
guard arguments.count > 4, let seed = UInt64(arguments[1]), let count = Int(arguments[2]) else {
  print("usage: mutants SEED COUNT REFUSED FILES…")
  exit(2)
}
let refused = Set(
  (try? String(contentsOfFile: arguments[3], encoding: .utf8))?.split(separator: "\n").map(String.init) ?? [])
let files = arguments[4...].sorted()
var sources = try files.map { try String(contentsOfFile: $0, encoding: .utf8).components(separatedBy: "\n") }

var places: [(file: Int, line: Int, mistake: Mistake)] = []
for file in files.indices {
  for line in sources[file].indices {
    for mistake in mistakes(at: line, of: sources[file]) { places.append((file, line, mistake)) }
  }
}
var random = SplitMix(state: seed)
for index in places.indices.dropLast() {
  places.swapAt(index, index + Int(random.next() % UInt64(places.count - index)))
}
FileHandle.standardError.write(Data("seed \(seed): \(places.count) places in \(files.count) files\n".utf8))

let originals = sources
var taken: Set<String> = []
var number = 0
for (file, line, mistake) in places where number < count {
  let place = "\(files[file]):\(line + 1)"
  guard !refused.contains(place), taken.insert(place).inserted else { continue }
  number += 1
  sources[file][line] = mistake.change("mutant(\(number))")
  print("\(number)\t\(place)\t\(mistake.kind)\t\(originals[file][line].drop { $0 == " " })")
}
for file in files.indices where sources[file] != originals[file] {
  try sources[file].joined(separator: "\n").write(toFile: files[file], atomically: true, encoding: .utf8)
}
