import Foundation
import ProcedureKit
import ProcedureKitFoundation

/// A lock that ensures that only one runner at a time uses the records. Acquiring the lock kills any processes that a killed runner left
/// behind.
///
/// The lock is a file that the system unlocks when the runner ends, even if the runner is killed. While a runner is working, the file
/// contains the runner's mark. Each command has this mark in its environment, after the marks of any enclosing runners. If a runner finds
/// the mark of an earlier one, it kills all processes that have this mark. They could otherwise write to the same files as the commands of
/// the new run. This works only on Linux, which exposes the environments of processes.
struct RunnerLock {
  /// The environment variable that contains the mark.
  static let variable: SystemText = "TASKRUNNER_RUN"

  /// The mark of this runner.
  let mark = UUID().uuidString
  /// The number of processes that were killed because an earlier runner had left them behind.
  let endedCount: Int
  private let descriptor: Int32

  /// Creates the folder for the records, and acquires the lock.
  ///
  /// - Throws: ``TaskProblem`` if another runner is using the same tasks, or if the folder cannot be written.
  init(_ records: TaskRecords) throws {
    let path: SystemText = "\(records.folder)/lock"
    do {
      try SystemFiles.makeFolders(records.folder)
      // The mark is written to this file, so a link must not redirect it to another file.
      descriptor = try SystemFiles.open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode: 0o666)
    } catch {
      throw TaskProblem.unwritable(path, error.code.rawValue)
    }
    guard Self.isPlainFile(descriptor) else {
      close(descriptor)
      throw TaskProblem.unwritable(path, EMLINK)
    }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      throw TaskProblem.busy(records.folder)
    }
    var earlier = [UInt8](repeating: 0, count: 36)
    let count = read(descriptor, &earlier, earlier.count)
    endedCount = count == earlier.count ? Self.end(String(decoding: earlier, as: UTF8.self)) : 0
    let bytes = Array(mark.utf8)
    guard pwrite(descriptor, bytes, bytes.count, 0) == bytes.count else {
      close(descriptor)
      throw TaskProblem.unwritable(path, errno)
    }
  }

  /// Returns whether a descriptor refers to a regular file that has only one hard link.
  private static func isPlainFile(_ descriptor: Int32) -> Bool {
    var information = stat()
    return fstat(descriptor, &information) == 0 && information.st_mode & S_IFMT == S_IFREG && information.st_nlink == 1
  }

  /// Kills all commands of this run, including commands that are currently being started.
  func endCommands() { _ = Self.end(mark) }

  /// Releases the lock. All commands of this run must have ended, but processes that they deliberately left running, such as a server, may
  /// remain.
  func release() {
    ftruncate(descriptor, 0)
    close(descriptor)
  }

  /// Kills processes with the given mark, and returns their number. If some processes remain, gives up after about five seconds.
  private static func end(_ mark: String) -> Int {
    var ended: Set<Int32> = []
    for _ in 0..<5_000 {
      let found = processes(with: mark)
      if found.isEmpty { break }
      for process in found {
        kill(process, SIGKILL)
        ended.insert(process)
      }
      usleep(1_000)
    }
    return ended.count
  }

  private static func processes(with mark: String) -> [Int32] {
    let start = Array("\(variable)=".utf8)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { Int32($0) }.filter { process in
      // The environment of a process that has ended or belongs to another user is empty.
      let environment = (try? Data(contentsOf: URL(filePath: "/proc/\(process)/environ"))) ?? Data()
      let marks = environment.split(separator: 0).first { $0.starts(with: start) }?.dropFirst(start.count)
      return marks?.split(separator: UInt8(ascii: " ")).contains { $0.elementsEqual(mark.utf8) } == true
    }
  }
}
