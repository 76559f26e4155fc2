import ProcedureKit
import ProcedureKitFoundation

/// A picture to read, together with the name for its results.
struct Source: Hashable, Sendable {
  let file: PPMFile

  /// The prefix of the results' file names. No other source has the same prefix, even if case is ignored.
  let stem: SystemText

  /// A message that explains how the results are named if another file has the same name; `nil` if they are named after the file.
  var renaming: String? {
    stem == file.stem
      ? nil : "the results for \(file.path) are named \(stem)-*.png, because another picture is named \(file.stem)"
  }

  /// Returns the file name of the result for a size.
  func resultName(size: Int) -> SystemText {
    "\(stem)-\(size).png"
  }
}

extension Source {
  /// Returns the pictures that the inputs specify, in order and without duplicates, and the errors in the inputs.
  ///
  /// Subdirectories are not searched. The sources include files that do not exist. A condition of the procedure that loads such a file
  /// reports the error.
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

  /// Returns the file names without extensions. If several files have the same name, a number is appended to all but the first.
  ///
  /// As on a Mac, names that differ only in case, or in the composition of characters such as `é`, are considered equal.
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
