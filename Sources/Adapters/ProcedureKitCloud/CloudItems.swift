#if canImport(CloudKit)
  import CloudKit
  public import Foundation
  import ProcedureKit

  /// An error that is thrown when some of the items in a request fail.
  ///
  /// To retry, run the procedure again with only the failed items. Their IDs are the keys of ``errors``. Do not save the other items again.
  public struct PartialCloudFailure<ID: Hashable & Sendable, Value: Sendable>: Error, CustomStringConvertible,
    LocalizedError
  {
    /// The values of the items that succeeded, keyed by their IDs.
    public let values: [ID: Value]
    /// The errors for the items that failed, keyed by their IDs.
    public let errors: [ID: any Error]

    /// A message that contains the numbers of failed and requested items, and one of the errors.
    public var description: String {
      let first = errors.first.map { "\($0.key): \($0.value)" } ?? ""
      let link = errors.count == 1 ? ": " : ", including "
      return "\(errors.count) of \(errors.count + values.count) items in the request failed\(link)\(first)"
    }

    /// The same text as ``description``.
    public var errorDescription: String? { description }
  }

  /// The results of a request for several items.
  struct CloudItems<ID: Hashable & Sendable, Value: Sendable> {
    private var values: [ID: Value] = [:]
    private var errors: [ID: any Error] = [:]

    mutating func add(_ results: [ID: Result<Value, any Error>]) {
      for (id, result) in results {
        switch result {
        case .success(let value): values[id] = value
        case .failure(let error): errors[id] = error
        }
      }
    }

    /// Returns the values, or throws an error if an item failed.
    func get() throws -> [ID: Value] {
      guard errors.isEmpty else { throw PartialCloudFailure(values: values, errors: errors) }
      return values
    }
  }

  /// Requests all items in batches of at most `size` items. If the service reports that a batch is too large, the size is halved, unless
  /// the request is atomic.
  func inBatches<Item>(
    of size: Int, _ items: [Item], isAtomic: Bool = false, _ request: ([Item]) async throws -> Void
  ) async throws {
    var (rest, size) = (items[...], max(1, size))
    while !rest.isEmpty {
      try ProcedureContext.checkCancellation()
      let batch = rest.prefix(size)
      do {
        try await request(Array(batch))
        rest = rest.dropFirst(batch.count)
      } catch let error as CKError where error.code == .limitExceeded && batch.count > 1 && !isAtomic {
        size = batch.count / 2
      }
    }
  }
#endif
