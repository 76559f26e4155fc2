#if canImport(CloudKit)
  public import CloudKit
  public import ProcedureKit

  /// The items to save in a database, and the IDs of the items to delete.
  public struct CloudChanges<Item: Sendable, ID: Sendable>: Sendable {
    /// The items to save.
    public var saving: [Item]
    /// The IDs of the items to delete.
    public var deleting: [ID]

    /// Creates a set of changes.
    public init(saving: [Item] = [], deleting: [ID] = []) {
      (self.saving, self.deleting) = (saving, deleting)
    }
  }

  /// A procedure that saves and deletes records.
  ///
  /// ```swift
  /// let save = ModifyRecords(in: container.privateCloudDatabase).cloudRetry()
  /// let saved = try await queue.run(save, input: CloudChanges(saving: [photo]))
  /// ```
  public struct ModifyRecords: Procedure {
    /// The database in which records are saved and deleted.
    public let database: CKDatabase
    /// The policy that determines what happens if a record has changed on the server.
    ///
    /// By default, saving such a record fails with `CKError.serverRecordChanged`, which contains the server's record.
    public var savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged
    /// Whether all records are changed in a single request. If so, either all of the changes in a zone are made or none of them are.
    public var isAtomic = true
    /// The maximum number of records that are changed at a time if ``isAtomic`` is `false`. If a batch is too large for the service, it is
    /// halved.
    public var batchSize = 400

    /// Creates a procedure.
    public init(in database: CKDatabase) {
      self.database = database
    }

    /// Saves and deletes records. Cancellation ends the procedure after the current request. Changes that have already been made are not
    /// undone.
    ///
    /// - Parameter changes: The items to save, and the IDs of the items to delete.
    /// - Returns: The records as they were saved, keyed by their IDs; `nil` for a deleted record.
    /// - Throws: ``PartialCloudFailure`` if some records were not changed; `CKError` if a request failed; `CancellationError` if the
    ///   procedure is cancelled before the last batch is sent.
    public func execute(_ changes: CloudChanges<CKRecord, CKRecord.ID>) async throws -> [CKRecord.ID: CKRecord?] {
      var items = CloudItems<CKRecord.ID, CKRecord?>()
      let steps = changes.saving.map(Step.save) + changes.deleting.map(Step.delete)
      try await inBatches(of: isAtomic ? steps.count : batchSize, steps, isAtomic: isAtomic) { batch in
        let results = try await database.modifyRecords(
          saving: batch.compactMap(\.saved), deleting: batch.compactMap(\.deleted), savePolicy: savePolicy,
          atomically: isAtomic)
        items.add(results.saveResults.mapValues { $0.map(Optional.some) })
        items.add(results.deleteResults.mapValues { $0.map { nil } })
      }
      return try items.get()
    }

    private enum Step {
      case save(CKRecord)
      case delete(CKRecord.ID)

      var saved: CKRecord? { if case .save(let record) = self { record } else { nil } }
      var deleted: CKRecord.ID? { if case .delete(let id) = self { id } else { nil } }
    }
  }

  /// A procedure that saves and deletes subscriptions, which request notifications about changes.
  public struct ModifySubscriptions: Procedure {
    /// The database in which subscriptions are saved and deleted.
    public let database: CKDatabase

    /// Creates a procedure.
    public init(in database: CKDatabase) {
      self.database = database
    }

    /// Saves and deletes subscriptions. Cancellation neither stops the request nor undoes its changes.
    ///
    /// - Parameter changes: The items to save, and the IDs of the items to delete.
    /// - Returns: The subscriptions as they were saved, keyed by their IDs; `nil` for a deleted subscription.
    /// - Throws: ``PartialCloudFailure`` if some subscriptions were not changed; `CKError` if the request failed.
    public func execute(
      _ changes: CloudChanges<CKSubscription, CKSubscription.ID>
    ) async throws -> [CKSubscription.ID: CKSubscription?] {
      let results = try await database.modifySubscriptions(saving: changes.saving, deleting: changes.deleting)
      var items = CloudItems<CKSubscription.ID, CKSubscription?>()
      items.add(results.saveResults.mapValues { $0.map(Optional.some) })
      items.add(results.deleteResults.mapValues { $0.map { nil } })
      return try items.get()
    }
  }
#endif
