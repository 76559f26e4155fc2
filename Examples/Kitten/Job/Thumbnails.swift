import ProcedureKit
import ProcedureKitDiagnostics
import ProcedureKitDurable

/// A job that resizes all pictures to all sizes.
struct Thumbnails {
  var sources: [Source]
  var sizes: [Int]
  var output: OutputDirectory
  /// The journal that records finished steps; `nil` if the user has not requested one.
  var journal: FileJournal?

  /// The graph that loads each picture once, resizes it to all sizes, writes the results, and reports them.
  ///
  /// The report accepts failures, so a failed picture does not affect the others. Later steps have higher priorities, so only the pictures
  /// in progress are kept in memory.
  var graph: ProcedureGraph<Void, Report> {
    ProcedureGraph(Step.graph) { g in
      let prepare = PrepareDirectory(directory: output).named(Step.prepare)
      let directory = g.add(prepare.version(Stamp.of(output.path)))
      var results: [Node<Result<Thumbnail, any Error>>] = []
      for source in sources {
        let image = g.add(load(source), after: [directory])
        for size in sizes {
          let name = source.resultName(size: size)
          let resized = g.add(ResizeImage(size: size).named(Step.resize(name)), from: image)
          let write = WritePNG(directory: output, fileName: name).named(Step.write(name)).priority(.high)
          results.append(g.add(write, from: resized).catchingErrors())
        }
      }
      return g.add(CollectReport(sources: sources).named(Step.report), from: results)
    }
  }

  /// Runs the graph on a new queue.
  ///
  /// - Parameters:
  ///   - jobs: The maximum number of steps that can execute simultaneously.
  ///   - recorder: A recorder for the queue, if any.
  ///   - progress: A display for the progress of the queue, if any.
  /// - Returns: The report, and the duration of each step, keyed by its name.
  /// - Throws: `CancellationError` if the task is cancelled, in which case no incomplete files are left.
  func run(
    jobs: Int, _ recorder: JobRecorder? = nil, _ progress: TerminalProgress? = nil
  ) async throws -> (Report, times: [SystemText: Duration]) {
    // The width of the queue limits the executing steps. The graph's limit also counts steps whose conditions are being evaluated, so that
    // no picture is started while the next step of another one is ready.
    let graph = graph.maxConcurrentNodes(jobs)
    let queue = ProcedureQueue("kitten", maxConcurrentProcedures: jobs)
    recorder?.record(queue)
    progress?.show(queue)
    let events = queue.events
    async let times = StepTimes.measure(events)
    let result: Result<Report, any Error>
    do {
      if let journal {
        result = .success(try await queue.run(graph.durable(in: journal)))
      } else {
        result = .success(try await queue.run(graph))
      }
    } catch {
      result = .failure(error)
    }
    // Shutting down the queue ends the events, and therefore the measurement.
    await queue.shutDown()
    await progress?.finish()
    return (try result.get(), await times)
  }

  private func load(_ source: Source) -> ProcedureTask<Void, Image> {
    let file = source.file
    return LoadImage(file: file)
      .condition("the file exists") {
        try file.checkExistence()
        return true
      }
      .condition("it is a picture") {
        _ = try file.header()
        return true
      }
      .named(Step.load(source))
      .priority(.low)
      // A picture that changed after a job was killed must be processed again.
      .version(file.stamp)
  }
}
