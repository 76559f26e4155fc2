#if canImport(CloudKit)
  public import CloudKit
  public import ProcedureKit

  /// What has changed in a zone.
  public struct CloudZoneChanges: Sendable {
    /// The new and the changed records, by their ids.
    public var records: [CKRecord.ID: CKRecord] = [:]
    /// The ids of the deleted records.
    public var deletedIDs: Set<CKRecord.ID> = []
    /// Where the next fetch begins. Keep the token when the changes are stored.
    public var token: CKServerChangeToken?
  }

  /// A procedure that fetches what has changed in a zone since a token, all pages of it.
  public struct FetchZoneChanges: Procedure {
    /// The database.
    public let database: CKDatabase
    /// The zone.
    public let zone: CKRecordZone.ID

    /// Creates a procedure.
    public init(from database: CKDatabase, zone: CKRecordZone.ID) {
      (self.database, self.zone) = (database, zone)
    }

    /// Fetches the changes, page by page. A cancel ends the procedure after the page under way.
    ///
    /// - Parameter token: The token of the fetch before; `nil` fetches everything.
    /// - Returns: The changes.
    /// - Throws: The error of the first record that could not be fetched; `CKError` if a request has failed:
    ///   `changeTokenExpired` asks to begin again without a token.
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
        try Task.checkCancellation()
      }
    }
  }
#endif
