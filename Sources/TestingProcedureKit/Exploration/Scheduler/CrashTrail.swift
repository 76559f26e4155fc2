import Synchronization

/// A file that survives a crash of the process. It contains the seed, the schedule's number, and a replay string of the choices so far.
///
/// The file is mapped into memory, so recording a choice requires no system call, and the kernel keeps the choices if the process dies. The
/// file is removed when the exploration ends. If the file cannot be created, nothing is recorded.
final class CrashTrail: Sendable {
  /// The size of the file in bytes. Choices that do not fit are not recorded.
  private static let size = 1 << 16

  /// The mapped file. Invariant: The memory is used only while the lock is held, and stays mapped until `deinit`.
  private struct Page: ~Copyable {
    let memory: UnsafeMutableBufferPointer<UInt8>
    var count = 0

    mutating func write(_ text: String) {
      var text = text
      text.withUTF8 { bytes in
        let size = min(bytes.count, memory.count - count)
        _ = memory[count..<count + size].update(fromContentsOf: bytes[..<size])
        count += size
      }
    }

    mutating func clear() {
      memory[..<count].update(repeating: UInt8(ascii: " "))
      count = 0
    }
  }

  private let page: Mutex<Page>
  private let path: String

  /// Creates the file in the directory for temporary files. Returns `nil` if the file cannot be created.
  init?() {
    let number = Self.made.add(1, ordering: .relaxed).newValue
    path = "\(Platform.temporaryDirectory)/procedurekit-exploration-\(Platform.processIdentifier)-\(number).txt"
    guard let memory = Platform.mapNewFile(path, size: Self.size) else { return nil }
    memory.update(repeating: UInt8(ascii: " "))
    page = Mutex(Page(memory: memory))
  }

  private static let made = Atomic(0)

  deinit {
    page.withLock { Platform.unmap($0.memory) }
  }

  /// Starts recording a new schedule.
  func willRun(_ schedule: Int, explorationSeed: UInt64, seed: UInt64, strategy: ExplorationStrategy) {
    page.withLock { page in
      page.clear()
      page.write("The process ended during schedule \(schedule) (seed \(explorationSeed), strategy \(strategy)).\n")
      page.write("To repeat the schedule, pass the last line, without spaces, to strategy: .replay(…)\n")
      page.write(ReplayCode(seed: seed, choices: []).description)
    }
  }

  /// Removes the file. The function is called when the exploration ends.
  func remove() {
    Platform.removeFile(path)
  }

  func didChoose(_ index: Int) {
    page.withLock { $0.write(ReplayCode.symbol(of: index)) }
  }
}
