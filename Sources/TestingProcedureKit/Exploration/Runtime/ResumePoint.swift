import Synchronization

#if os(Linux) && (arch(x86_64) || arch(arm64)) && compiler(>=6.3) && compiler(<6.4) && canImport(Runtime)
  @_spi(Internal) import Runtime
#endif

/// The code in which a job of a task continues, or in which a task is parked in the middle of a job, as addresses of instructions. The
/// innermost function comes first, followed by the functions that await it, or that have called it.
///
/// A suspended task contains the address at which it continues, and its innermost async context. Each context contains the address at
/// which the awaiting function continues, and the context of that function. The layout is not documented, so a test determines `isKnown`.
/// The addresses are read only when a schedule is run again for a report, because each step then takes some microseconds longer.
///
/// The module `Runtime` of the toolchain finds the function, the file and the line of an address. It has no public way to look up an
/// address other than those of a backtrace, so this code is compiled only for certain versions of the compiler, and only on Linux.
enum ResumePoint {
  private static let word = MemoryLayout<UInt>.size
  private static let functionOffset = 7 * word
  private static let contextOffset = 8 * word
  /// The maximum number of functions that are read from a task. The code under test is usually among the innermost ones.
  private static let depth = 16

  /// Whether the code in which a suspended task continues is known in this process.
  static var isKnown: Bool { probe != nil }

  /// The code in which the test's task continues after the `Task.yield` in `KitSpawner.startProbe`; `nil` if the layout is unknown. The
  /// functions of this code are looked up together with those of the first trace, because a lookup takes about a second in a large program.
  static let probe: [UInt]? = {
    guard TaskStatus.isKnown, CodeMap.Symbol.canBeFound else { return nil }
    let executor = JobKind.Probe()
    KitSpawner.startProbe(on: executor)
    var chain: [UInt] = []
    while let job = executor.next() {
      if JobKind.isTask(job, ofTask: JobIdentities.taskID(of: job)) {
        chain = addresses(of: job) { Platform.isMapped($0, count: 2 * word) }
      }
      executor.run(job)
    }
    return chain.count > 1 && chain.allSatisfy(Platform.isInImage) ? chain : nil
  }()

  /// Returns the code in which `job` continues. `job` must belong to a task, and must not have run yet. The test of the layout checks with
  /// `isReadable` whether a context can be read.
  static func addresses(of job: UnownedJob, isReadable: (UInt) -> Bool = { _ in true }) -> [UInt] {
    let task = unsafeBitCast(job, to: UInt.self)
    var addresses = [load(task, functionOffset)]
    var context = load(task, contextOffset)
    while context != 0, context % UInt(word) == 0, addresses.count < depth, isReadable(context) {
      addresses.append(load(context, word))
      context = load(context, 0)
    }
    return addresses.filter { $0 != 0 }
  }

  /// Returns the calls on the stack of the calling thread; an empty array if they are unknown.
  static func addressesOfCalls() -> [UInt] { isKnown ? Platform.calls(limit: 2 * depth) : [] }

  private static func load(_ address: UInt, _ offset: Int) -> UInt {
    UnsafeRawPointer(bitPattern: address)?.load(fromByteOffset: offset, as: UInt.self) ?? 0
  }
}

/// The functions, files and lines to which addresses in the code belong.
struct CodeMap {
  /// The code to which a function belongs.
  enum Origin {
    case codeUnderTest
    case procedureKit
    /// The runtime, and the libraries of the toolchain, whose places in the source code are unknown.
    case toolchain
  }

  /// A function at an address.
  struct Symbol {
    var address: UInt
    var mangledName: String
    var origin: Origin
    /// Whether the compiler has generated the function.
    var isThunk: Bool
    /// The place in the source code; `nil` if it is unknown, or has not been looked up.
    var place: SourcePlace?
  }

  /// The results of all lookups in this process.
  private struct Known {
    /// The functions at each address. There are several if the compiler has inlined one into another; the innermost comes first.
    var symbols: [UInt: [Symbol]] = [:]
    /// The addresses whose places have been looked up.
    var located: Set<UInt> = []

    /// Looks up the functions at `addresses`, or their places, unless this has been done before.
    mutating func lookUp(_ addresses: Set<UInt>, places: Bool) {
      let unknown = addresses.filter { places ? !located.contains($0) : symbols[$0] == nil }
      guard !unknown.isEmpty else { return }
      let found = Dictionary(grouping: Symbol.all(at: unknown.sorted(), places: places), by: \.address)
      for address in unknown { symbols[address] = found[address] ?? [] }
      if places { located.formUnion(unknown) }
    }

    /// Returns the addresses in `chain` that are most likely to determine its place. Only a few addresses are looked up, because the
    /// runtime searches the tables of all files for each place.
    func candidates(of chain: [UInt]) -> ArraySlice<UInt> {
      func addresses(in origin: Origin) -> ArraySlice<UInt> {
        chain.filter { symbols[$0]?.contains { !$0.isThunk && $0.origin == origin } == true }.prefix(4)
      }
      let own = addresses(in: .codeUnderTest)
      return own.isEmpty ? addresses(in: .procedureKit) : own
    }
  }

  /// The lock is held during a lookup, because `Runtime` is not documented to be thread-safe.
  private static let known = Mutex(Known())

  private let symbols: [UInt: [Symbol]]

  /// Looks up the places of chains.
  init(_ chains: [[UInt]]) {
    guard let probe = ResumePoint.probe else {
      symbols = [:]
      return
    }
    symbols = Self.known.withLock { known in
      known.lookUp(Set(chains.joined()).union(probe), places: false)
      let isCorrect = probe.contains { known.symbols[$0]?.contains { $0.mangledName.contains("startProbe") } == true }
      guard isCorrect else { return [:] }
      known.lookUp(Set(chains.flatMap { known.candidates(of: $0) }), places: true)
      return known.symbols
    }
  }

  /// Returns the innermost place of a chain in code with the given origin; `nil` if there is none.
  func place(of chain: [UInt], in origin: Origin) -> SourcePlace? {
    chain.lazy.flatMap { symbols[$0] ?? [] }.first { $0.place != nil && $0.origin == origin }?.place
  }
}

extension CodeMap.Symbol {
  #if os(Linux) && (arch(x86_64) || arch(arm64)) && compiler(>=6.3) && compiler(<6.4) && canImport(Runtime)
    static let canBeFound = true

    #if arch(arm64)
      private static let architecture = "arm64"
    #else
      private static let architecture = "x86_64"
    #endif

    /// Returns the functions at `addresses`, with their places if `places` is `true`.
    static func all(at addresses: [UInt], places: Bool) -> [Self] {
      let frames = addresses.map { RichFrame.programCounter(UInt64($0)) }
      let images = ImageMap.capture()
      let backtrace = Backtrace(architecture: architecture, frames: frames, images: images)
      var options: Backtrace.SymbolicationOptions = .useSymbolCache
      if places { options.formUnion([.showInlineFrames, .showSourceLocations]) }
      return backtrace.symbolicated(with: images, options: options)?.frames.compactMap(Self.init) ?? []
    }

    private init?(_ frame: SymbolicatedBacktrace.Frame) {
      guard let symbol = frame.symbol, let address = UInt(frame.captured.originalProgramCounter) else { return nil }
      self.address = address
      mangledName = symbol.rawName
      origin =
        if Self.libraries.contains(where: { symbol.imageName.hasPrefix($0) }) {
          .toolchain
        } else if Self.modules.contains(where: { symbol.rawName.hasPrefix($0) }) {
          .procedureKit
        } else {
          .codeUnderTest
        }
      isThunk = symbol.isSwiftThunk || symbol.name.contains("thunk for ")
      if !isThunk, let location = symbol.sourceLocation, location.line > 0,
        !location.path.contains("<compiler-generated>")
      {
        place = SourcePlace(function: symbol.name, file: location.path, line: location.line)
      }
    }

    private static let libraries = [
      "libswift", "lib_", "libTesting.", "libXCTest.", "libFoundation", "libdispatch.", "libc.",
    ]
    private static let modules = ["$s12ProcedureKit", "$s13ExploredLocks", "$s19TestingProcedureKit"]
  #else
    static let canBeFound = false

    /// Returns an empty array, because the system provides no way to look up the functions.
    static func all(at addresses: [UInt], places: Bool) -> [Self] { [] }
  #endif
}
