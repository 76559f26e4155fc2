import Dispatch
import Foundation
import ProcedureKit
import ProcedureKitFoundation
import Synchronization

/// W10: reading and hashing files, at most eight at a time.
enum HashWork {
  static let contestants = [
    Contestant(.floor) { units in
      try trial(units) { files in
        try await withThrowingTaskGroup(of: Int.self) { group in
          var sum = 0
          for (number, file) in files.enumerated() {
            if number >= width { sum += try await group.next() ?? 0 }
            group.addTask { try hash(file) }
          }
          for try await value in group { sum += value }
          return sum
        }
      }
    },
    Contestant(.operationQueue) { units in
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = width
      return try trial(units) { addOperations($0, to: queue) }
    },
    Contestant(.dispatch) { units in
      let queue = DispatchQueue(label: "hash", attributes: .concurrent)
      return try trial(units) { dispatch($0, to: queue) }
    },
    Contestant(.procedureKit("map")) { units in
      let queue = ProcedureQueue("hash", maxConcurrentProcedures: width)
      let hashing = ProcedureTask("hash") { (file: URL) in try hash(file) }
      return try trial(units) { files in try await queue.map(files, with: hashing).reduce(0, +) }
    },
  ]

  private static let width = 8
  private static let contents = [UInt8](repeating: 0x2e, count: 16 << 10)

  /// Files in a folder that is removed when this object is released.
  private final class Files: Sendable {
    let all: [URL]
    private let folder = FileManager.default.temporaryDirectory.appending(
      path: "benchmark-\(UUID().uuidString)")

    init(_ count: Int) throws {
      all = (0..<count).map { [folder] in folder.appending(path: "\($0)") }
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      for file in all { try Data(contents).write(to: file) }
    }

    deinit { try? FileManager.default.removeItem(at: folder) }
  }

  /// A sum that several threads add to. If a number cannot be computed, the sum is wrong, so the trial fails.
  private final class Sum: Sendable {
    private let sum = Atomic(0)

    var value: Int { sum.load(ordering: .relaxed) }

    func add(_ number: () throws -> Int) {
      sum.wrappingAdd((try? number()) ?? 0, ordering: .relaxed)
    }
  }

  private static func trial(
    _ units: Int, _ work: @escaping @concurrent @Sendable ([URL]) async throws -> Int
  ) throws -> Trial {
    let files = try Files(units)
    return Trial(units: units, expecting: units * number(of: contents)) {
      defer { withExtendedLifetime(files) {} }
      return try await work(files.all)
    }
  }

  private static func addOperations(_ files: [URL], to queue: OperationQueue) -> Int {
    let sum = Sum()
    for file in files { queue.addOperation { sum.add { try hash(file) } } }
    queue.waitUntilAllOperationsAreFinished()
    return sum.value
  }

  private static func dispatch(_ files: [URL], to queue: DispatchQueue) -> Int {
    let (group, semaphore, sum) = (DispatchGroup(), DispatchSemaphore(value: width), Sum())
    for file in files {
      semaphore.wait()
      queue.async(group: group) {
        sum.add { try hash(file) }
        semaphore.signal()
      }
    }
    group.wait()
    return sum.value
  }

  private static func hash(_ file: URL) throws -> Int {
    Tally.note()
    return number(of: [UInt8](try Data(contentsOf: file)))
  }

  /// Returns a positive number that is derived from the hash.
  private static func number(of bytes: [UInt8]) -> Int {
    var hash = SHA256()
    hash.add(bytes)
    return Int(hash.finished()[0]) + 1
  }
}
