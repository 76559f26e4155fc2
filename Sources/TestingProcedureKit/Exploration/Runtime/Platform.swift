import Dispatch
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(WinSDK)
  import WinSDK
#endif

/// A switch that lets tests turn off every use of undocumented parts of the Swift runtime.
enum UndocumentedParts {
  private static let areDisabledNow = Atomic(false)

  /// Whether the explorer is allowed to use undocumented parts of the Swift runtime. Each part is tested before its first use, and is used
  /// only if the test succeeds.
  static var areAllowed: Bool { !areDisabledNow.load(ordering: .acquiring) }

  /// Makes all tests of undocumented parts fail. The function must be called before the first exploration in the process.
  static func disable() { areDisabledNow.store(true, ordering: .releasing) }
}

/// The operating system functions that the explorer needs. Only this file imports platform modules.
///
/// The article *What explorations rely on* lists the parts of the runtime that this folder uses, and explains what the explorer cannot do
/// without each part.
enum Platform {
  /// The identity of a thread, which is used to detect jobs from outside an exploration.
  struct Thread: Hashable, Sendable {
    private let bits: UInt

    /// Returns a number below `count`. Different threads usually get different numbers.
    func spread(over count: Int) -> Int {
      // Thread descriptors are at regular distances in memory, so the low bits of their addresses are equal. The multiplication mixes all
      // bits into the high ones.
      Int(((UInt64(bits) &* 0x9E37_79B9_7F4A_7C15) >> 32) % UInt64(count))
    }

    /// The calling thread.
    static var current: Thread {
      #if canImport(WinSDK)
        return Thread(bits: UInt(GetCurrentThreadId()))
      #elseif canImport(Darwin)
        return Thread(bits: UInt(bitPattern: pthread_self()))
      #else
        return Thread(bits: UInt(pthread_self()))
      #endif
    }
  }

  /// A signal that one thread can wait for. A signal that is sent before the wait is not lost.
  final class Signal: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func signal() { semaphore.signal() }

    /// Blocks the thread until a signal is sent.
    func wait() { semaphore.wait() }

    /// Blocks the thread until a signal is sent, but for no longer than `milliseconds`.
    ///
    /// - Returns: Whether a signal was sent.
    func wait(atMost milliseconds: Int) -> Bool {
      semaphore.wait(timeout: .now() + .milliseconds(milliseconds)) == .success
    }
  }

  /// Calls `body` on another thread after `delay`, which is limited to a day.
  static func perform(after delay: Duration, _ body: @escaping @Sendable () -> Void) {
    let (seconds, attoseconds) = min(max(delay, .zero), .seconds(86_400)).components
    let nanoseconds = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
    DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(nanoseconds), execute: body)
  }

  /// Returns the address of a variable that the process exports; `nil` if there is no variable called `name`.
  static func variable<Value>(named name: String, as type: Value.Type) -> UnsafeMutablePointer<Value>? {
    #if canImport(WinSDK)
      return nil
    #else
      return dlsym(dlopen(nil, RTLD_LAZY), name)?.assumingMemoryBound(to: Value.self)
    #endif
  }

  /// Returns a function that the process exports; `nil` if there is no function called `name`.
  static func function<Function>(named name: String, as type: Function.Type) -> Function? {
    #if canImport(WinSDK)
      return nil
    #else
      return dlsym(dlopen(nil, RTLD_LAZY), name).map { unsafeBitCast($0, to: type) }
    #endif
  }

  /// The directory for temporary files.
  static var temporaryDirectory: String {
    #if canImport(WinSDK)
      return "."
    #else
      return getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    #endif
  }

  /// Returns the addresses of up to `limit` calls on the calling thread's stack; an empty array if the system cannot provide them.
  ///
  /// The system finds the calls by using the unwind tables. Frame pointers would not suffice, because parts of the runtime do not have
  /// them.
  @inline(never)
  static func calls(limit: Int) -> [UInt] {
    guard let backtrace else { return [] }
    return withUnsafeTemporaryAllocation(of: UInt.self, capacity: limit) { buffer in
      guard let start = buffer.baseAddress else { return [] }
      // A return address belongs to the instruction after the call.
      return buffer.prefix(Int(backtrace(start, CInt(limit)))).map { $0 &- 1 }
    }
  }

  private static let backtrace = function(
    named: "backtrace", as: (@convention(c) (UnsafeMutablePointer<UInt>, CInt) -> CInt).self)
  private static let dladdr = function(
    named: "dladdr", as: (@convention(c) (UInt, UnsafeMutablePointer<UInt>) -> CInt).self)

  /// Returns whether `address` is in the memory of the program or of a library.
  static func isInImage(_ address: UInt) -> Bool {
    // The result consists of four addresses.
    withUnsafeTemporaryAllocation(of: UInt.self, capacity: 4) { buffer in
      guard let dladdr, let start = buffer.baseAddress else { return false }
      return dladdr(address, start) != 0
    }
  }

  /// Returns whether `count` bytes at `address` can be read.
  static func isMapped(_ address: UInt, count: Int) -> Bool {
    #if canImport(WinSDK)
      return false
    #else
      let start = address & ~UInt(sysconf(CInt(_SC_PAGESIZE)) - 1)
      let size = Int(address - start) + count
      // The call fails if the memory is not mapped. It writes nothing, because the flag only schedules a write that happens anyway.
      return msync(UnsafeMutableRawPointer(bitPattern: start), size, MS_ASYNC) == 0
    #endif
  }

  static var processIdentifier: Int {
    #if canImport(WinSDK)
      return Int(GetCurrentProcessId())
    #else
      return Int(getpid())
    #endif
  }

  /// Creates a file of `size` bytes and maps it into memory. Returns `nil` if this fails or the file already exists.
  static func mapNewFile(_ path: String, size: Int) -> UnsafeMutableBufferPointer<UInt8>? {
    #if canImport(WinSDK)
      return nil
    #else
      let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { return nil }
      defer { close(descriptor) }
      guard ftruncate(descriptor, off_t(size)) == 0,
        let start = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), start != MAP_FAILED
      else {
        removeFile(path)
        return nil
      }
      return UnsafeMutableBufferPointer(start: start.assumingMemoryBound(to: UInt8.self), count: size)
    #endif
  }

  static func unmap(_ memory: UnsafeMutableBufferPointer<UInt8>) {
    #if !canImport(WinSDK)
      CodeMap.Symbol.unmapping { munmap(memory.baseAddress, memory.count) }
    #endif
  }

  static func removeFile(_ path: String) {
    #if !canImport(WinSDK)
      unlink(path)
    #endif
  }

  /// The number of processors.
  static var processorCount: Int {
    #if canImport(WinSDK)
      var information = SYSTEM_INFO()
      GetSystemInfo(&information)
      return Int(information.dwNumberOfProcessors)
    #else
      return sysconf(CInt(_SC_NPROCESSORS_ONLN))
    #endif
  }

  private final class Work: Sendable {
    let perform: @Sendable () -> Void

    init(_ perform: @escaping @Sendable () -> Void) { self.perform = perform }

    static func perform(_ work: UnsafeMutableRawPointer?) {
      guard let work else { return }
      Unmanaged<Work>.fromOpaque(work).takeRetainedValue().perform()
    }
  }

  /// The stack size of a thread, in bytes.
  static let stackSize: UInt = 8 << 20

  /// Runs `work` on a new, detached thread whose stack is as large as a typical main thread's.
  static func startThread(_ work: @escaping @Sendable () -> Void) {
    let argument = Unmanaged.passRetained(Work(work)).toOpaque()
    #if canImport(WinSDK)
      let routine: LPTHREAD_START_ROUTINE = { argument in
        Work.perform(argument)
        return 0
      }
      guard let thread = CreateThread(nil, SIZE_T(stackSize), routine, argument, 0, nil) else {
        preconditionFailure("the system could not create a thread for the exploration")
      }
      CloseHandle(thread)
    #else
      var attributes = pthread_attr_t()
      pthread_attr_init(&attributes)
      defer { pthread_attr_destroy(&attributes) }
      pthread_attr_setstacksize(&attributes, Int(stackSize))
      #if canImport(Darwin)
        var thread: pthread_t?
      #else
        var thread = pthread_t()
      #endif
      let error = pthread_create(
        &thread, &attributes,
        { argument in
          Work.perform(argument)
          return nil
        }, argument)
      precondition(error == 0, "the system could not create a thread for the exploration: error \(error)")
      #if canImport(Darwin)
        if let thread { pthread_detach(thread) }
      #else
        pthread_detach(thread)
      #endif
    #endif
  }

  /// The path of the status file that the kernel provides for the calling thread; `nil` on systems without such files.
  static var currentThreadFile: String? {
    #if os(Linux) || os(Android)
      let capacity = 64
      return withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { path in
        guard let start = path.baseAddress else { return nil }
        let count = readlink("/proc/thread-self", start, capacity)
        guard count > 0 else { return nil }
        return "/proc/" + String(decoding: path.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self) + "/stat"
      }
    #else
      return nil
    #endif
  }

  /// The processor time that the calling thread has used; `nil` on systems that do not report it.
  static var processorTimeOfThread: Duration? {
    #if os(Linux) || os(Android)
      var time = timespec()
      guard clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0 else { return nil }
      return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    #else
      return nil
    #endif
  }

  /// Returns whether the thread to which `file` belongs is sleeping in the kernel, for example because it is waiting for a lock; `nil` if
  /// this is unknown.
  static func isSleeping(_ file: String?) -> Bool? {
    #if os(Linux) || os(Android)
      guard let file else { return nil }
      let descriptor = open(file, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return nil }
      defer { close(descriptor) }
      var text = [UInt8](repeating: 0, count: 256)
      let count = text.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
      // In the file, the state follows the name of the process, which is in parentheses.
      guard count > 0, let end = text.prefix(count).lastIndex(of: UInt8(ascii: ")")), end + 2 < count else {
        return nil
      }
      return text[end + 2] == UInt8(ascii: "S")
    #else
      return nil
    #endif
  }
}
