import Foundation

/// A picture to read, and the name that its results get.
struct Source: Hashable, Sendable {
  let file: PPMFile

  /// What the names of the results begin with; unique among the sources, whatever the case of letters.
  let stem: String

  /// What to tell the user if the results are not named after the file, as another file has the same name.
  var renaming: String? {
    stem == file.stem ? nil : "\(file.path) is written as \(stem)-*.png: another picture is called \(file.stem)"
  }

  /// The result's file name for a size.
  func resultName(size: Int) -> String {
    "\(stem)-\(size).png"
  }
}

extension Source {
  /// The pictures that the inputs name, in their order, each once, and what was wrong with inputs.
  ///
  /// Directories are looked through, one level deep. A file that does not exist is a source nevertheless: the condition
  /// on its procedure will tell.
  static func find(_ inputs: [String]) -> (sources: [Source], errors: [KittenError]) {
    var paths: [String] = []
    var errors: [KittenError] = []
    for input in inputs {
      var isDirectory: ObjCBool = false
      guard FileManager.default.fileExists(atPath: input, isDirectory: &isDirectory), isDirectory.boolValue else {
        paths.append(input)
        continue
      }
      do throws(KittenError) {
        paths += try pictures(in: input)
      } catch {
        errors.append(error)
      }
    }
    var seen: Set<String> = []
    let unique = paths.filter { seen.insert(URL(filePath: $0).resolvingSymlinksInPath().path).inserted }
    let sources = zip(unique, stems(for: unique)).map { Source(file: PPMFile(path: $0), stem: $1) }
    return (sources, errors)
  }

  private static func pictures(in directory: String) throws(KittenError) -> [String] {
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: directory)
    } catch {
      throw .unreadableFile(directory, SystemError(behind: error))
    }
    let pictures = names.filter { ["ppm", "pnm"].contains(URL(filePath: $0).pathExtension.lowercased()) }.sorted()
    if pictures.isEmpty { throw .noPictures(directory: directory) }
    return pictures.map { directory.hasSuffix("/") ? directory + $0 : directory + "/" + $0 }
  }

  /// The files' names without extension; where several files have the same, all but the first get a number, one that no
  /// other file has by nature.
  static func stems(for paths: [String]) -> [String] {
    let natural = paths.map { PPMFile(path: $0).stem }
    var taken = Set(natural.map { $0.lowercased() })
    var seen: Set<String> = []
    return natural.map { stem in
      if seen.insert(stem.lowercased()).inserted { return stem }
      var number = 2
      while !taken.insert("\(stem)-\(number)".lowercased()).inserted { number += 1 }
      return "\(stem)-\(number)"
    }
  }
}
