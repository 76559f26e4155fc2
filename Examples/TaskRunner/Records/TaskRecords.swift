import Foundation

/// What a folder beside the task file says of each task that has succeeded: a hash of all that the task depends on, and of all that
/// it has made.
///
/// A record is removed before the command starts, and written, whole, when all outputs are there. So a command that was
/// interrupted, in whatever way, has none.
struct TaskRecords: Sendable {
  let folder: String

  /// The folder of the records of a task file: `.tasks.json.records` beside `tasks.json`.
  init(of file: TaskFile) {
    let name = file.path.dropFirst(file.folder == "/" ? 1 : file.folder.count + 1)
    folder = Paths.absolute(".\(name).records", in: file.folder)
  }

  /// Returns the record of a task; `nil` if the task has not succeeded since its last start.
  func record(of task: String) -> String? {
    (try? Data(contentsOf: URL(filePath: path(of: task)))).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Removes the record of a task, which is about to start.
  ///
  /// - Throws: ``TaskProblem``, if the record stays.
  func remove(_ task: String) throws {
    guard unlink(path(of: task)) == 0 || errno == ENOENT else { throw TaskProblem.unwritable(path(of: task), errno) }
  }

  /// Keeps the record of a task that has succeeded: a file that is renamed when it is whole.
  ///
  /// - Throws: ``TaskProblem``, if it is not kept.
  func write(_ record: String, of task: String) throws {
    let (path, partial) = (path(of: task), path(of: task) + ".partial")
    let descriptor = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw TaskProblem.unwritable(partial, errno) }
    let bytes = Array(record.utf8)
    let isWritten = Foundation.write(descriptor, bytes, bytes.count) == bytes.count
    guard close(descriptor) == 0, isWritten, rename(partial, path) == 0 else {
      throw TaskProblem.unwritable(path, errno)
    }
  }

  /// A name can have any characters; the name of the file has digits only.
  private func path(of task: String) -> String {
    var fingerprint = Fingerprint()
    fingerprint.add(task)
    return "\(folder)/\(fingerprint.finish().prefix(32))"
  }
}
