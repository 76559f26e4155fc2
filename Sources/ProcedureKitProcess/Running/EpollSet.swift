#if os(Linux)
  import Foundation

  /// A set of descriptors that uses `epoll`. Adding a descriptor does not wake the waiting thread.
  final class EpollSet: DescriptorSet {
    private static let readable: UInt32 = 1  // EPOLLIN
    private static let once: UInt32 = 1 << 30  // EPOLLONESHOT
    private static let wakeKey = -1
    private let descriptor: Int32
    /// The pipe that wakes the thread. A byte in the pipe ends the wait.
    private let wakeup: PipeEnds

    /// Creates a set that contains no descriptors.
    ///
    /// - Throws: `POSIXError` if the process cannot open any more descriptors.
    init() throws {
      wakeup = try PipeEnds()
      descriptor = makeEpoll(O_CLOEXEC)
      guard descriptor >= 0, add(wakeup.reading, key: Self.wakeKey, Self.readable) else {
        throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EMFILE)
      }
    }

    deinit {
      wakeup.close()
      _ = close(descriptor)
    }

    func wake() {
      wakeup.writeByte()
    }

    func add(_ descriptor: Int32, key: Int) -> Bool {
      add(descriptor, key: key, Self.readable | Self.once)
    }

    private func add(_ descriptor: Int32, key: Int, _ kinds: UInt32) -> Bool {
      let (add, change): (Int32, Int32) = (1, 3)  // EPOLL_CTL_ADD, EPOLL_CTL_MOD
      return withUnsafeTemporaryAllocation(byteCount: EpollEvent.size, alignment: 8) { event in
        event.storeBytes(of: kinds, as: UInt32.self)
        event.storeBytes(of: key, toByteOffset: EpollEvent.keyOffset, as: Int.self)
        if changeEpoll(self.descriptor, add, descriptor, event.baseAddress) == 0 { return true }
        return errno == EEXIST && changeEpoll(self.descriptor, change, descriptor, event.baseAddress) == 0
      }
    }

    func next(within limit: Duration?) -> [Int] {
      let most = 64
      let keys = withUnsafeTemporaryAllocation(byteCount: most * EpollEvent.size, alignment: 8) { events in
        let count = awaitEpoll(descriptor, events.baseAddress, Int32(most), Duration.milliseconds(of: limit))
        return (0..<max(Int(count), 0)).map {
          events.loadUnaligned(fromByteOffset: $0 * EpollEvent.size + EpollEvent.keyOffset, as: Int.self)
        }
      }
      guard keys.contains(Self.wakeKey) else { return keys }
      wakeup.readByte()
      return keys.filter { $0 != Self.wakeKey }
    }
  }

  /// The layout of `struct epoll_event`, which is missing from the Swift module of the C library.
  private enum EpollEvent {
    #if arch(x86_64)
      static let (keyOffset, size) = (4, 12)
    #else
      static let (keyOffset, size) = (8, 16)
    #endif
  }
#endif
