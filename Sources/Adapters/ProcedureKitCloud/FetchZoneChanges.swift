#if canImport(CloudKit)
  public import CloudKit
  public import ProcedureKit

  /// The changes in a zone.
  public struct CloudZoneChanges: Sendable {
    /// The new and changed records, keyed by their IDs.
    public var records: [CKRecord.ID: CKRecord] = [:]
    /// The IDs of the deleted records.
    public var deletedIDs: Set<CKRecord.ID> = []
    /// The token to pass to the next fetch, which then returns only later changes. Store the token together with the changes.
    public var token: CKServerChangeToken?
  }

  /// A procedure that fetches all changes in a zone since a previous fetch.
  public struct FetchZoneChanges: Procedure {
    /// The database that contains the zone.
    public let database: CKDatabase
    /// The zone whose changes are fetched.
    public let zone: CKRecordZone.ID

    /// Creates a procedure.
    public init(from database: CKDatabase, zone: CKRecordZone.ID) {
      (self.database, self.zone) = (database, zone)
    }

    /// Fetches the changes, page by page. Cancellation ends the procedure after the current page.
    ///
    /// - Parameter token: The token from the previous fetch; `nil` to fetch everything.
    /// - Returns: The changes.
    /// - Throws: The error for the first record that could not be fetched; `CKError` if a request failed; `CancellationError` if the
    ///   procedure is cancelled before the last page is requested. If the error is a `CKError` with the code `changeTokenExpired`, start
    ///   again without a token.
    public func execute(_ token: CKServerChangeToken?) async throws -> CloudZoneChanges {
      var changes = CloudZoneChanges(token: token)
      while true {
        let page = try await database.recordZoneChanges(inZoneWith: zone, since: changes.token)
        for (id, result) in page.modificationResultsByID {
          changes.records[id] = try result.get().record
          changes.deletedIDs.remove(id)
        }
        for deletion in page.deletions {
          changes.records[deletion.recordID] = nil
          changes.deletedIDs.insert(deletion.recordID)
        }
        changes.token = page.changeToken
        guard page.moreComing else { return changes }
        try ProcedureContext.checkCancellation()
      }
    }
  }
#endif
