#if canImport(CloudKit)
  public import CloudKit
  public import ProcedureKit

  /// A procedure that fetches records by their IDs.
  ///
  /// ```swift
  /// let fetch = FetchRecords(from: container.privateCloudDatabase).cloudRetry()
  /// let photos = try await queue.run(fetch, input: ids)
  /// ```
  public struct FetchRecords: Procedure {
    /// The database that contains the records.
    public let database: CKDatabase
    /// The fields to fetch; `nil` for all fields.
    public var desiredKeys: [CKRecord.FieldKey]?
    /// The maximum number of records that are requested at a time. If a batch is too large for the service, it is halved.
    public var batchSize = 400

    /// Creates a procedure that fetches records from a database.
    public init(from database: CKDatabase) {
      self.database = database
    }

    /// Fetches the records. Cancellation ends the procedure after the current batch.
    ///
    /// - Parameter ids: The IDs of the records.
    /// - Returns: The records, keyed by their IDs.
    /// - Throws: ``PartialCloudFailure`` if some records could not be fetched; `CKError` if a request failed; `CancellationError` if the
    ///   procedure is cancelled before the last batch is requested.
    public func execute(_ ids: [CKRecord.ID]) async throws -> [CKRecord.ID: CKRecord] {
      var items = CloudItems<CKRecord.ID, CKRecord>()
      try await inBatches(of: batchSize, ids) { batch in
        items.add(try await database.records(for: batch, desiredKeys: desiredKeys))
      }
      return try items.get()
    }
  }

  /// A procedure that finds the records that match a query. It fetches the results page by page, until there are no more or ``limit`` is
  /// reached.
  public struct QueryRecords: Procedure {
    /// The database in which to search.
    public let database: CKDatabase
    /// The zone in which to search; `nil` for all zones in the database.
    public var zone: CKRecordZone.ID?
    /// The fields to fetch; `nil` for all fields.
    public var desiredKeys: [CKRecord.FieldKey]?
    /// The maximum number of records, which must be at least 1; `nil` if there is no limit.
    public var limit: Int?

    /// Creates a procedure.
    public init(in database: CKDatabase, zone: CKRecordZone.ID? = nil, limit: Int? = nil) {
      (self.database, self.zone, self.limit) = (database, zone, limit)
    }

    /// Finds the records, page by page. Cancellation ends the procedure after the current page.
    ///
    /// - Parameter query: The query that the records match.
    /// - Returns: The records, in the order that the query specifies.
    /// - Throws: The error for the first record that could not be fetched; `CKError` if a request failed; `CancellationError` if the
    ///   procedure is cancelled before the last page is requested.
    public func execute(_ query: CKQuery) async throws -> [CKRecord] {
      var records: [CKRecord] = []
      var page = try await database.records(
        matching: query, inZoneWith: zone, desiredKeys: desiredKeys, resultsLimit: rest(after: 0))
      while true {
        for (_, result) in page.matchResults { records.append(try result.get()) }
        guard let cursor = page.queryCursor, limit.map({ records.count < $0 }) ?? true else { return records }
        try ProcedureContext.checkCancellation()
        page = try await database.records(
          continuingMatchFrom: cursor, desiredKeys: desiredKeys, resultsLimit: rest(after: records.count))
      }
    }

    private func rest(after count: Int) -> Int {
      limit.map { max(1, $0 - count) } ?? CKQueryOperation.maximumResults
    }
  }
#endif
