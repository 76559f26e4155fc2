import Foundation
import TestSupport
import Testing

@testable import ProcedureKit

/// The format of snapshots for other programs, which the guide *The JSON of a snapshot* documents.
@Suite(.timeLimit(.minutes(10))) struct SnapshotCodingTests {
  private static func run(_ number: UInt64, _ name: String) -> ProcedureIdentity {
    ProcedureIdentity(id: ProcedureID(number: number), name: name)
  }

  private static func entry(
    _ procedure: ProcedureIdentity, _ state: ProcedureState, parent: ProcedureIdentity? = nil, key: String? = nil,
    slot: Int? = nil, progress: Double? = nil, executionCause: ExecutionCause? = nil, wait: QueueSnapshot.Wait? = nil
  ) -> QueueSnapshot.Entry {
    QueueSnapshot.Entry(
      procedure: procedure, state: state, parent: parent, key: key, slot: slot, progress: progress,
      executionCause: executionCause, wait: wait)
  }

  private static func snapshot(
    _ procedures: [QueueSnapshot.Entry], limit: Int = .max, totals: QueueTotals? = nil
  ) -> QueueSnapshot {
    QueueSnapshot(
      name: "jobs", instant: ProcedureInstant(nanoseconds: 12_500_000_000), maxConcurrentProcedures: 2, slotsInUse: 1,
      maxWaitingProcedures: limit, maxConcurrentProceduresPerKey: 1, maxWaitingProceduresPerKey: limit,
      isSuspended: false, isShutDown: false, totals: totals, procedures: procedures)
  }

  private static func json(_ value: some Encodable, _ formatting: JSONEncoder.OutputFormatting = []) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = formatting.union([.sortedKeys, .withoutEscapingSlashes])
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  private static func decode<Value: Decodable>(_ type: Value.Type, _ json: String) throws -> Value {
    try JSONDecoder().decode(type, from: Data(json.utf8))
  }

  /// The example of the guide; `ProjectTests` compares the two.
  private static let golden = """
    {
      "instant" : 12.5,
      "isShutDown" : false,
      "isSuspended" : false,
      "maxConcurrentProcedures" : 2,
      "maxConcurrentProceduresPerKey" : 1,
      "name" : "jobs",
      "procedures" : [
        {
          "id" : 7,
          "key" : "acme",
          "name" : "render",
          "progress" : 0.25,
          "slot" : 0,
          "state" : "executing"
        },
        {
          "id" : 8,
          "key" : "acme",
          "name" : "render",
          "state" : "waiting",
          "wait" : {
            "key" : "acme",
            "kind" : "key",
            "limit" : 1
          }
        },
        {
          "id" : 9,
          "name" : "mail",
          "state" : "pending",
          "wait" : {
            "kind" : "dependencies",
            "procedures" : [
              {
                "id" : 8,
                "name" : "render"
              }
            ]
          }
        }
      ],
      "slotsInUse" : 1,
      "version" : 1
    }
    """

  private static let ofGolden = snapshot([
    entry(run(7, "render"), .executing, key: "acme", slot: 0, progress: 0.25),
    entry(run(8, "render"), .waiting, key: "acme", wait: .key("acme", limit: 1)),
    entry(run(9, "mail"), .pending, wait: .dependencies([run(8, "render")])),
  ])

  @Test("The JSON of a snapshot is the documented one, byte for byte, and is read back")
  func golden() throws {
    #expect(try Self.json(Self.ofGolden, .prettyPrinted) == Self.golden)
    let copy = try Self.decode(QueueSnapshot.self, Self.golden)
    #expect("\(copy)" == "\(Self.ofGolden)" && copy.instant == Self.ofGolden.instant)
    #expect(copy.maxWaitingProcedures == .max && copy.maxWaitingProceduresPerKey == .max)
    #expect(try Self.json(copy, .prettyPrinted) == Self.golden)
  }

  private static let waits: [(wait: QueueSnapshot.Wait, json: String)] = [
    (.dependencies([run(1, "a")]), #"{"kind":"dependencies","procedures":[{"id":1,"name":"a"}]}"#),
    (.conditions(["c", "d"]), #"{"conditions":["c","d"],"kind":"conditions"}"#),
    (.resumption, #"{"kind":"resumption"}"#),
    (
      .resources([ExclusionWait(procedure: run(1, "a"), key: "disk", holder: run(2, "b"))]),
      #"{"kind":"resources","resources":[{"holder":{"id":2,"name":"b"},"procedure":{"id":1,"name":"a"},"resource":"disk"}]}"#
    ),
    (
      .resources([ExclusionWait(procedure: run(1, "a"), key: "disk", holder: run(2, "b"), isAheadInLine: true)]),
      #"{"kind":"resources","resources":[{"holder":{"id":2,"name":"b"},"isAheadInLine":true,"procedure":{"id":1,"name":"a"},"resource":"disk"}]}"#
    ),
    (.slot, #"{"kind":"slot"}"#),
    (.key("k", limit: 2), #"{"key":"k","kind":"key","limit":2}"#),
    (.pause(until: ProcedureInstant(nanoseconds: 1_300_000_000)), #"{"kind":"pause","until":1.3}"#),
    (.pause(until: nil), #"{"kind":"pause"}"#),
    (.procedures([run(1, "a")]), #"{"kind":"procedures","procedures":[{"id":1,"name":"a"}]}"#),
    (.idleness(of: "q"), #"{"kind":"idleness","queue":"q"}"#),
    (.room(on: "q"), #"{"kind":"room","queue":"q"}"#),
    (.events(of: "q"), #"{"kind":"events","source":"q"}"#),
    (.children([run(1, "a")]), #"{"kind":"children","procedures":[{"id":1,"name":"a"}]}"#),
    (.nodes, #"{"kind":"nodes"}"#),
    (.graphLimit(3), #"{"kind":"graphLimit","limit":3}"#),
    (.rateLimit, #"{"kind":"rateLimit"}"#),
  ]

  @Test("Each kind of wait has its documented JSON", arguments: waits.indices)
  func wait(_ index: Int) throws {
    let (wait, json) = Self.waits[index]
    #expect(try Self.json(wait) == json)
    #expect(try Self.decode(QueueSnapshot.Wait.self, json) == wait)
  }

  @Test("A state is encoded as its name", arguments: ProcedureState.allCases)
  func state(_ state: ProcedureState) throws {
    #expect(try Self.json([state]) == "[\"\(state)\"]")
    #expect(try Self.decode([ProcedureState].self, "[\"\(state)\"]") == [state])
  }

  private static let causes: [(cause: ExecutionCause, json: String)] = [
    (.notRemembered, #"{"kind":"notRemembered"}"#), (.versionChanged, #"{"kind":"versionChanged"}"#),
    (.dependenciesChanged(["a"]), #"{"dependencies":["a"],"kind":"dependenciesChanged"}"#),
    (.dependenciesExecuted([]), #"{"dependencies":[],"kind":"dependenciesExecuted"}"#),
    (.notCodable("Photo"), #"{"kind":"notCodable","type":"Photo"}"#),
  ]

  @Test("Each cause of an execution has its documented JSON", arguments: causes.indices)
  func cause(_ index: Int) throws {
    let (cause, json) = Self.causes[index]
    #expect(try Self.json(cause) == json)
    #expect(try Self.decode(ExecutionCause.self, json) == cause)
  }

  @Test("Every field of an entry, all limits and the totals survive coding")
  func everything() throws {
    var totals = QueueTotals()
    totals.count(
      .finished(()), ProcedureMetrics(waiting: .milliseconds(2), executing: .seconds(3), attempts: 2), isReused: true)
    totals.count(.failed(TestError()), nil, isReused: false)
    let full = Self.entry(
      Self.run(3, "n"), .pausing, parent: Self.run(2, "g"), key: "k", slot: 1, progress: 0.5,
      executionCause: .versionChanged, wait: .rateLimit)
    let snapshot = Self.snapshot([full], limit: 5, totals: totals)
    let json = try Self.json(snapshot)
    let copy = try Self.decode(QueueSnapshot.self, json)
    #expect(copy.totals == totals && "\(copy)" == "\(snapshot)")
    #expect(copy.maxWaitingProcedures == 5 && copy.maxWaitingProceduresPerKey == 5)
    #expect(try Self.json(copy) == json)
    let entry = try #require(copy.procedures.first)
    #expect(entry.parent == full.parent && entry.slot == 1 && entry.progress == 0.5)
    #expect(entry.executionCause == .versionChanged && entry.wait == .rateLimit)
  }

  @Test("The JSON of totals is the documented one")
  func totals() throws {
    var totals = QueueTotals()
    let metrics = ProcedureMetrics(
      pending: .seconds(1), evaluating: .milliseconds(20), waiting: .milliseconds(300), claiming: .milliseconds(100),
      executing: .nanoseconds(4_000_000_001), paused: .microseconds(5), finishing: .zero, attempts: 3)
    totals.count(.finished(()), metrics, isReused: false)
    let counts = Array(repeating: 0, count: 31)
    var (waiting, executing) = (counts, counts)
    (waiting[19], executing[20]) = (1, 1)
    let expected =
      #"{"cancelledCount":0,"executing":{"counts":[\#(executing.json)],"sum":4.000000001},"failedCount":0,"#
      + #""finishedCount":1,"ignoredCount":0,"refusedCount":0,"retryCount":2,"reusedCount":0,"#
      + #""times":{"attempts":3,"claiming":0.1,"evaluating":0.02,"executing":4.000000001,"finishing":0,"#
      + #""paused":5e-06,"pending":1,"waiting":0.3},"#
      + #""waiting":{"counts":[\#(waiting.json)],"sum":1.32}}"#
    #expect(try Self.json(totals) == expected)
    #expect(try Self.decode(QueueTotals.self, expected) == totals)
  }

  @Test("Unknown keys are ignored, in the snapshot and in its parts")
  func unknownKeys() throws {
    let json = Self.golden.replacingOccurrences(of: "\"name\"", with: "\"new\" : [{}], \"name\"")
      .replacingOccurrences(of: "\"kind\"", with: "\"new\" : null, \"kind\"")
    #expect("\(try Self.decode(QueueSnapshot.self, json))" == "\(Self.ofGolden)")
  }

  @Test(
    "A snapshot of another version, and unknown states and kinds, are errors that name the value",
    arguments: [
      ("\"version\" : 1", "\"version\" : 2", "version 2"), ("\"version\" : 1", "\"version\" : 0", "version 0"),
      ("\"state\" : \"executing\"", "\"state\" : \"dreaming\"", "dreaming"),
      ("\"kind\" : \"key\"", "\"kind\" : \"fog\"", "fog"),
    ])
  func refused(_ part: String, _ replacement: String, _ words: String) throws {
    #expect(Self.golden.contains(part))
    let json = Self.golden.replacingOccurrences(of: part, with: replacement)
    let error = #expect(throws: DecodingError.self) { try Self.decode(QueueSnapshot.self, json) }
    guard case .dataCorrupted(let context)? = error else { return #expect(Bool(false), "\(error as Any)") }
    #expect(context.debugDescription.contains(words), "\(context)")
  }

  @Test("A snapshot without a version is refused")
  func noVersion() throws {
    let json = Self.golden.replacingOccurrences(
      of: "\"slotsInUse\" : 1,\n  \"version\" : 1", with: "\"slotsInUse\" : 1")
    let error = #expect(throws: DecodingError.self) { try Self.decode(QueueSnapshot.self, json) }
    guard case .keyNotFound(let key, _)? = error else { return #expect(Bool(false), "\(error as Any)") }
    #expect(key.stringValue == "version")
  }

  @Test(
    "A duration is a number of seconds with all its nanoseconds, and extreme ones saturate",
    arguments: [
      (Duration.zero, "0"), (.nanoseconds(1), "1e-09"), (.milliseconds(300), "0.3"), (.seconds(-2), "-2"),
      (.nanoseconds(86_400_123_456_789), "86400.123456789"), (.seconds(3), "3"),
    ])
  func seconds(_ duration: Duration, _ json: String) throws {
    #expect(try Self.json([Seconds(duration)]) == "[\(json)]")
    #expect(try Self.decode([Seconds].self, "[\(json)]").map(\.duration) == [duration])
    for extreme in [Duration(attoseconds: .max), Duration(attoseconds: .min)] {
      let coded = try Self.json([Seconds(extreme)])
      #expect(try Self.decode([Seconds].self, coded).map(\.duration) == [extreme])
    }
  }

  @Test("Metrics and durations of version 0.9 can be read, and anything that is not a duration is an error")
  func earlier() throws {
    let old =
      #"{"pending":[0,0],"evaluating":[0,0],"waiting":[0,2000000000],"executing":[0,0],"paused":[0,0],"attempts":1}"#
    #expect(
      try Self.decode(ProcedureMetrics.self, old) == ProcedureMetrics(waiting: .nanoseconds(2), attempts: 1))
    var histogram = DurationHistogram()
    histogram.record(.seconds(3))
    let newJSON = try Self.json(histogram)
    let oldJSON = newJSON.replacingOccurrences(of: "\"sum\":3", with: "\"sum\":[0,3000000000000000000]")
    #expect(oldJSON != newJSON)
    #expect(try Self.decode(DurationHistogram.self, oldJSON) == histogram)
    #expect(throws: DecodingError.self) { try Self.decode([Seconds].self, #"["long"]"#) }
    #expect(throws: DecodingError.self) { try Self.decode([Seconds].self, "[[1]]") }
  }
}

extension [Int] {
  fileprivate var json: String { map(String.init).joined(separator: ",") }
}
