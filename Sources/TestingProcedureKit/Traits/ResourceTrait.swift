#if canImport(Testing)
  public import ProcedureKit
  public import Testing

  /// A trait that makes a test hold resources while it runs, so that it does not run concurrently with other tests that need them.
  ///
  /// ```swift
  /// @Suite("Accounts", .shared("database")) struct AccountTests {
  ///   @Test("A migration preserves the accounts", .exclusive("database")) func migration() async throws { … }
  ///   @Test("A server answers", .units(1, of: ports)) func server() async throws { … }
  /// }
  /// ```
  ///
  /// A claim on a resource also affects the tests of other suites and files. Tests that claim no common resource run concurrently. The
  /// trait `.serialized`, in contrast, affects only the tests within one suite. The names apply within one test process, and are unrelated
  /// to the categories and resources of procedures. Units are separate from the resources of `.exclusive` and `.shared`, even if the names
  /// are the same: `.exclusive("ports")` does not exclude `.units(1, of: ports)`.
  ///
  /// If the trait is applied to a suite, it applies to each test of the suite, including the tests of nested suites. A test takes either
  /// all of its resources, including those of its suites, or none, so tests cannot deadlock each other. If several traits name the same
  /// resource, only the largest claim applies. Unlike the units that a procedure claims, the units in several traits are not added
  /// together. Each case of a parameterized test claims the resources separately. If a test is explored, it holds its resources for the
  /// whole exploration.
  ///
  /// A resource is never left unused while a test that needs it could run. Therefore, tests that share a resource can overtake a test that
  /// is waiting to use it exclusively. If a test has been waiting for a minute, it records a warning that names the tests that hold the
  /// resources. The wait counts towards the test's `.timeLimit`.
  public struct ResourceTrait: TestTrait, SuiteTrait, TestScoping {
    /// The test on whose behalf the current task holds resources; `nil` if the task holds none.
    @TaskLocal private static var holder: Test.ID?

    let demands: [TestResourceTable.Demand]

    /// Whether the trait also applies to the tests of nested suites. The value is `true`.
    public var isRecursive: Bool { true }

    /// Runs the test while it holds the resources of all its traits. Swift Testing calls this method.
    ///
    /// - Parameters:
    ///   - test: The test to run.
    ///   - testCase: The test case.
    ///   - function: The body of the test.
    /// - Throws: Any error thrown by the body; an error if a resource does not have enough units, or if another test has declared it with a
    ///   different capacity; `CancellationError` if the test is cancelled while it is waiting for its resources.
    public func provideScope(
      for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
      try await Self.holdResources(of: test, function)
    }

    /// Executes a function while a test holds the resources of all its traits. The outermost trait takes the resources.
    static func holdResources(of test: Test, _ function: @Sendable @concurrent () async throws -> Void) async throws {
      let demands = test.traits.lazy.compactMap { $0 as? ResourceTrait }.flatMap(\.demands)
      // The trait that explores a test holds the resources for all schedules.
      if demands.isEmpty || holder == test.id || ExplorationEnvironment.current != nil { return try await function() }
      try await TestResourceTable.shared.hold(Array(demands), for: test.key) { wait in
        Issue.record(Comment(rawValue: wait), severity: .warning, sourceLocation: test.sourceLocation)
      } operation: {
        try await $holder.withValue(test.id) { try await function() }
      }
    }

    fileprivate init(_ categories: [String], isShared: Bool) {
      demands = categories.map {
        .init(key: .category(ByteText($0)), units: isShared ? 1 : .max, capacity: .max)
      }
    }

    fileprivate init(_ units: Int, of resource: Resource) {
      require(units >= 1, "units(_:of: \"\(resource.name)\"): a test must claim at least 1 unit, got \(units)")
      demands = [.init(key: .units(ByteText(resource.name)), units: units, capacity: resource.capacity)]
    }
  }

  extension Trait where Self == ResourceTrait {
    /// Returns a trait that runs a test only while no other test holds any of the named resources.
    ///
    /// - Parameters:
    ///   - resource: The name of a resource. Names are compared byte by byte.
    ///   - others: The names of further resources.
    /// - Returns: The trait.
    public static func exclusive(_ resource: String, _ others: String...) -> Self {
      ResourceTrait([resource] + others, isShared: false)
    }

    /// Returns a trait that runs a test only while no other test holds any of the named resources exclusively. Tests that share a resource
    /// run concurrently.
    ///
    /// - Parameters:
    ///   - resource: The name of a resource. Names are compared byte by byte.
    ///   - others: The names of further resources.
    /// - Returns: The trait.
    public static func shared(_ resource: String, _ others: String...) -> Self {
      ResourceTrait([resource] + others, isShared: true)
    }

    /// Returns a trait that makes a test hold units of a resource while it runs. Together, running tests never hold more units than the
    /// capacity of the resource.
    ///
    /// - Parameters:
    ///   - units: The number of units. Passing a number below 1 traps. A test fails if it claims more units than the capacity.
    ///   - resource: The resource, which is identified by its name. A test fails if another test has declared a different capacity.
    /// - Returns: The trait.
    public static func units(_ units: Int, of resource: Resource) -> Self {
      ResourceTrait(units, of: resource)
    }
  }

  extension Test {
    /// The test's name, which consists of the module, the suites and the function.
    var key: String {
      let (id, suffix) = ("\(id)", "/\(sourceLocation.fileName):\(sourceLocation.line):\(sourceLocation.column)")
      return id.hasSuffix(suffix) ? String(id.dropLast(suffix.count)) : id
    }
  }
#endif
