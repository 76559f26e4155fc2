import ProcedureKit

/// The outputs of tasks, as a tree of names. A lookup takes time proportional to the length of the path, regardless of the number of paths.
struct PathTree {
  private struct Place: Hashable {
    let folder: Int
    let name: SystemText
  }

  private struct Entry {
    /// The task that creates the file or folder, if any.
    var maker: Int?
    /// The tasks that create files or folders within this folder, in order and without duplicates.
    var makersWithin: [Int] = []
  }

  /// The entries. The first entry is the root.
  private var entries = [Entry()]
  private var places: [Place: Int] = [:]

  /// Adds a path that a task creates. Tasks must be added in order.
  ///
  /// - Returns: Another task that creates the same path, if there is one.
  mutating func add(_ path: SystemText, maker: Int) -> Int? {
    var index = 0
    for name in Paths.parts(of: path) {
      if entries[index].makersWithin.last != maker { entries[index].makersWithin.append(maker) }
      let place = Place(folder: index, name: name)
      if places[place] == nil {
        places[place] = entries.count
        entries.append(Entry())
      }
      index = places[place] ?? 0
    }
    defer { entries[index].maker = maker }
    return entries[index].maker
  }

  /// Returns the innermost output folder that contains a path, and the task that creates this folder.
  func makerAround(_ path: SystemText) -> (path: SystemText, maker: Int)? {
    let parts = Paths.parts(of: path)
    let around = walk(parts).prefix(parts.count).enumerated().last { entries[$0.element].maker != nil }
    guard let around, let maker = entries[around.element].maker else { return nil }
    let folder = parts.prefix(around.offset).flatMap { Array("/".utf8) + $0.bytes }
    return (around.offset == 0 ? "/" : SystemText(bytes: folder), maker)
  }

  /// Returns the tasks that create a path, a folder that contains it, or a file within it, in that order.
  func makers(of path: SystemText) -> [Int] {
    let parts = Paths.parts(of: path)
    let way = walk(parts)
    let within = way.count > parts.count ? entries[way[parts.count]].makersWithin : []
    return way.reversed().compactMap { entries[$0].maker } + within
  }

  /// Returns the entries along a path from the root, as far as they exist.
  private func walk(_ parts: [SystemText]) -> [Int] {
    var way = [0]
    for name in parts {
      guard let next = places[Place(folder: way[way.count - 1], name: name)] else { break }
      way.append(next)
    }
    return way
  }
}
