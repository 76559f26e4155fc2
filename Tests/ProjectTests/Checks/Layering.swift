/// The direction in which the folders of a module may know each other: each knows itself and those before it.
struct Layering {
  /// The module's folder, `Sources/ProcedureKit`.
  let module: String
  /// The folders in it, the lowest first.
  let order: [String]

  /// What in these files names a type of a folder above its own, and which folders the order forgets.
  func findings(in files: [SourceFile]) -> [Finding] {
    let name = module.split(separator: "/").last.map(String.init) ?? module
    let index = TypeIndex(files, modules: [name])
    return files.flatMap { file -> [Finding] in
      guard let rank = rank(of: file.path) else {
        return [Finding(path: file.path, line: 1, message: "stands in no folder that the order of the layers names")]
      }
      var reported: Set<[String]> = []
      return file.code.indices.compactMap { token in
        guard let type = index.type(at: token, in: file),
          let declaring = type.files.compactMap({ self.rank(of: $0) }).min(), declaring > rank
        else { return nil }
        let line = file.code[token].line
        guard reported.insert(type.path + ["\(line)"]).inserted else { return nil }
        return Finding(
          path: file.path, line: line,
          message: "names \(type.path.joined(separator: ".")), which \(order[declaring])/ declares, from "
            + "\(order[rank])/, which stands below it")
      }
    }
  }

  /// The place in the order of the longest folder that the path begins with.
  private func rank(of path: String) -> Int? {
    order.indices.filter { path.hasPrefix("\(module)/\(order[$0])/") }.max { order[$0].count < order[$1].count }
  }
}
