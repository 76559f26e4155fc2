// Writes the public declarations of each module as text, one on a line, sorted by the type to which they belong.
//
// usage: public-api GRAPHS RESULT
//   GRAPHS   a folder with a folder for each system, in it the symbol graphs of the modules. The system that this compiler builds for is named "built"
//   RESULT   an existing folder, in which MODULE.txt is written for each module
//
// A declaration that is missing in the built module, because it is for other systems, is followed by the names of these systems.
import Foundation

struct Graph: Decodable {
  struct Module: Decodable {
    let name: String
  }

  let module: Module
  let symbols: [Symbol]
  let relationships: [Relationship]
}

struct Symbol: Decodable {
  struct Identifier: Decodable {
    let precise: String
  }

  struct Fragment: Decodable {
    let spelling: String
  }

  struct Version: Decodable, CustomStringConvertible {
    let major: Int
    let minor: Int?

    var description: String { minor.map { $0 == 0 ? "\(major)" : "\(major).\($0)" } ?? "\(major)" }
  }

  struct Availability: Decodable {
    let domain: String?
    let introduced: Version?
    let deprecated: Version?
    let isUnconditionallyDeprecated: Bool?
    let isUnconditionallyUnavailable: Bool?

    var attribute: String {
      let parts = [
        introduced.map { "introduced: \($0)" }, deprecated.map { "deprecated: \($0)" },
        isUnconditionallyDeprecated == true ? "deprecated" : nil, isUnconditionallyUnavailable == true ? "unavailable" : nil,
      ]
      return "@available(" + ([domain ?? "*"] + parts.compactMap(\.self)).joined(separator: ", ") + ") "
    }
  }

  let identifier: Identifier
  let pathComponents: [String]
  let declarationFragments: [Fragment]
  let availability: [Availability]?
}

struct Relationship: Decodable {
  struct Constraint: Decodable {
    let kind: String
    let lhs: String
    let rhs: String

    var text: String { "\(lhs) \(kind == "sameType" ? "==" : ":") \(rhs)" }
  }

  let kind: String
  let source: String
  let target: String
  let targetFallback: String?
  let swiftConstraints: [Constraint]?
}

/// A line of the result. A type is followed by its requirements, its conformances and its members.
struct Line: Hashable, Comparable {
  enum Role: Int {
    case declaration, requirement, conformance, member
  }

  /// The full name of the type that is declared, or to which the conformance or the member belongs.
  var type: String
  var role: Role
  var text: String

  static func < (left: Line, right: Line) -> Bool {
    if left.type != right.type { return left.type.utf8.lexicographicallyPrecedes(right.type.utf8) }
    if left.role != right.role { return left.role.rawValue < right.role.rawValue }
    return left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }
}

/// Conformances and constraints that the compiler adds by itself.
let implied: Set = ["BitwiseCopyable", "Copyable", "Escapable", "SendableMetatype"]

/// The names of the types in the graphs, and of the other types that the graphs extend, by their identifiers.
func names(in graphs: [Graph]) -> [String: String] {
  var names: [String: String] = [:]
  for graph in graphs {
    for symbol in graph.symbols { names[symbol.identifier.precise] = symbol.pathComponents.joined(separator: ".") }
  }
  for graph in graphs {
    for relationship in graph.relationships where relationship.kind == "memberOf" && names[relationship.target] == nil {
      names[relationship.target] = names[relationship.source]?.split(separator: ".").dropLast().joined(separator: ".")
    }
  }
  return names
}

func lines(of graph: Graph, _ names: [String: String]) -> [Line] {
  let requirements = Set(
    graph.relationships.filter { $0.kind == "requirementOf" || $0.kind == "optionalRequirementOf" }.map(\.source))
  var protocols: Set<String> = []
  var lines: [Line] = []

  for symbol in graph.symbols where !symbol.identifier.precise.contains("::SYNTHESIZED::") {
    let declaration = symbol.declarationFragments.map(\.spelling).joined().split(whereSeparator: \.isWhitespace).joined(separator: " ")
    let text = (symbol.availability ?? []).map(\.attribute).sorted().joined() + declaration
    let (name, parent) = (symbol.pathComponents.joined(separator: "."), symbol.pathComponents.dropLast().joined(separator: "."))
    let words = Set(declaration.split(separator: " ").prefix { !["func", "var", "let", "init", "case", "typealias"].contains($0) })
    let isType = !words.isDisjoint(with: ["actor", "class", "enum", "protocol", "struct"])
    if words.contains("protocol") { protocols.insert(symbol.identifier.precise) }
    if parent.isEmpty {
      lines.append(Line(type: isType ? name : "", role: .declaration, text: text))
    } else if requirements.contains(symbol.identifier.precise) || declaration.hasPrefix("associatedtype ") {
      lines.append(Line(type: parent, role: .requirement, text: "protocol \(parent) { \(text) }"))
    } else {
      lines.append(
        Line(type: isType ? name : parent, role: isType ? .declaration : .member, text: "extension \(parent) { \(text) }"))
    }
  }

  for relationship in graph.relationships where relationship.kind == "conformsTo" || relationship.kind == "inheritsFrom" {
    // The declaration of a protocol contains the protocols that it refines.
    guard !protocols.contains(relationship.source) else { continue }
    let type = names[relationship.source] ?? relationship.source
    // The name of a type of another module begins with the module, which is sometimes a private part of Foundation.
    let other = relationship.targetFallback.map { $0.split(separator: ".").dropFirst().joined(separator: ".") }
    let target = names[relationship.target] ?? other ?? relationship.target
    guard !implied.contains(target) else { continue }
    let constraints = (relationship.swiftConstraints ?? []).filter { !implied.contains($0.rhs) }.map(\.text).sorted().joined(separator: ", ")
    lines.append(
      Line(type: type, role: .conformance, text: "extension \(type): \(target)\(constraints.isEmpty ? "" : " where \(constraints)")"))
  }
  return lines
}

let arguments = CommandLine.arguments
guard arguments.count == 3 else { fatalError("usage: public-api GRAPHS RESULT") }
let files = FileManager.default
/// For each module, the systems that have each line.
var modules: [String: [Line: Set<String>]] = [:]
for system in try files.contentsOfDirectory(atPath: arguments[1]).sorted() {
  let folder = "\(arguments[1])/\(system)"
  let graphs = try files.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".symbols.json") }.sorted().map {
    try JSONDecoder().decode(Graph.self, from: Data(contentsOf: URL(filePath: "\(folder)/\($0)")))
  }
  let names = names(in: graphs)
  for graph in graphs {
    for line in lines(of: graph, names) { modules[graph.module.name, default: [:]][line, default: []].insert(system) }
  }
}
guard !modules.isEmpty else { fatalError("there are no symbol graphs in \(arguments[1])") }
for (module, lines) in modules {
  let text = lines.sorted { $0.key < $1.key }.map { line, systems in
    line.text + (systems.contains("built") ? "" : "  // \(systems.sorted().joined(separator: ", "))") + "\n"
  }
  try text.joined().write(toFile: "\(arguments[2])/\(module).txt", atomically: true, encoding: .utf8)
}
