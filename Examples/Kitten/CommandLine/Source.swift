import ProcedureKit
import ProcedureKitFoundation

/// A picture to read, and the name that its results get.
struct Source: Hashable, Sendable {
  let file: PPMFile

  /// What the names of the results begin with; unique among the sources, whatever the case of letters.
  let stem: SystemText

  /// What to tell the user if the results are not named after the file, as another file has the same name.
  var renaming: String? {
    stem == file.stem ? nil : "\(file.path) is written as \(stem)-*.png: another picture is called \(file.stem)"
  }

  /// The result's file name for a size.
  func resultName(size: Int) -> SystemText {
    "\(stem)-\(size).png"
  }
}

extension Source {
  /// The pictures that the inputs name, in their order, each once, and what was wrong with inputs.
  ///
  /// Directories are looked through, one level deep. A file that does not exist is a source nevertheless: the condition
  /// on its procedure will tell.
  static func find(_ inputs: [SystemText]) -> (sources: [Source], errors: [KittenError]) {
    var paths: [SystemText] = []
    var errors: [KittenError] = []
    for input in inputs {
      guard SystemFiles.isFolder(input) else {
        paths.append(input)
        continue
      }
      do throws(KittenError) {
        paths += try pictures(in: input)
      } catch {
        errors.append(error)
      }
    }
    var seen: Set<SystemText> = []
    let unique = paths.filter { seen.insert(SystemFiles.resolved($0) ?? $0).inserted }
    let sources = zip(unique, stems(for: unique)).map { Source(file: PPMFile(path: $0), stem: $1) }
    return (sources, errors)
  }

  private static func pictures(in directory: SystemText) throws(KittenError) -> [SystemText] {
    let names: [SystemText]
    do {
      names = try SystemFiles.names(in: directory)
    } catch {
      throw .unreadableFile(directory, SystemError(error))
    }
    let pictures = names.filter { ["ppm", "pnm"].contains($0.nameAndExtension.extension.description.lowercased()) }
    if pictures.isEmpty { throw .noPictures(directory: directory) }
    return pictures.map { directory.appending(path: $0) }
  }

  /// The files' names without extension; where several files have the same, all but the first get a number, one that no
  /// other file has by nature.
  ///
  /// Names that a Mac takes for the same file are the same here, too: the case of letters does not count, nor whether `é` is composed.
  static func stems(for paths: [SystemText]) -> [SystemText] {
    let natural = paths.map { PPMFile(path: $0).stem }
    var taken = Set(natural.map { $0.description.lowercased() })
    var (seen, numbers): (Set<String>, [String: Int]) = ([], [:])
    return natural.map { stem in
      let key = stem.description.lowercased()
      if seen.insert(key).inserted { return stem }
      var number = numbers[key] ?? 2
      while !taken.insert("\(key)-\(number)").inserted { number += 1 }
      numbers[key] = number + 1
      return "\(stem)-\(number)"
    }
  }
}
