#if os(Linux)
  import Dispatch
  import Foundation
  import Testing

  /// An executor that a test can stop. Its tasks do not run until it continues.
  final class HeldExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "held")

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    func hold() { queue.suspend() }
    func letGo() { queue.resume() }
  }

  /// Returns a value of `/proc/self/status`, such as `VmRSS`, in bytes.
  func memory(_ name: String) throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(name + ":") })
    return try #require(Int(line.filter(\.isNumber))) << 10
  }
#endif
