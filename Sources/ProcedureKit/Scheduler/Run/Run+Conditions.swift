/// The conditions of a run, which are evaluated before it claims its resources (K1, K2).
extension Run {
  /// Evaluates the conditions (K1).
  ///
  /// - Returns: The next step; `nil` for an added run, which is advanced by the decision rather than by this task.
  func evaluate() async -> RunStep? {
    let conditions = core.read { $0.runs[self].closures }?.conditions ?? []
    let work = CancellableTask()
    if isDrivenByWorker {
      // The decision advances the run. This task continues until all conditions have ended, including those that ignore cancellation (K1).
      await evaluate(conditions, by: work) { self.conditionsDecided($0) }
      return nil
    }
    // A nested run releases the slot of the enclosing body while the conditions are evaluated (Q3).
    let evaluation = await withSlotOfBodyReleased {
      let decision = ResultBox<ConditionEvaluation>()
      if leavesConditionsBehind {
        await waitForDecision(of: conditions, decision)
      } else {
        await evaluate(conditions, by: work) { decision.store(.success($0)) }
      }
      return try? decision.result?.get()
    }
    cancelIfTaskIsCancelled()
    if let evaluation { conditionsDecided(evaluation) }
    return .wait
  }

  /// Evaluates conditions in a child task, with the context and the executor of the run, and waits until all tasks of the conditions
  /// have ended (K1). Cancelling the task or the run cancels the evaluation.
  ///
  /// `decide` is not called if the run has ended, or if its queue was suspended before the evaluation (Q2).
  private func evaluate(
    _ conditions: [Condition], by work: CancellableTask, decide: @escaping Condition.Decision
  ) async {
    await withTaskAndRunCancellationHandler {
      await withBindings {
        await ProcedureContext.bound.withValue(.init(self)) {
          await withTaskExecutorPreference(self.core.executor) {
            await work.execute(startsAtOnce: false) {
              if self.core.send({ state, _ in state.machine.evaluationStarts(state.runs[self].member) }) {
                await Condition.evaluateAll(conditions, decide: decide)
              }
            }
          }
        }
      }
    } onCancel: {
      work.cancel()
    }
  }

  /// Evaluates conditions and waits only for the decision. Stores no decision if the run was cancelled or stopped first, or if the
  /// conditions were not evaluated.
  private func waitForDecision(of conditions: [Condition], _ decision: ResultBox<ConditionEvaluation>) async {
    let decisionSignal = OneShotSignal()
    let task = Spawner.startEvaluation(executor: core.executor) { [self] in
      await evaluate(conditions, by: CancellableTask()) {
        decision.store(.success($0))
        decisionSignal.signal()
      }
      decisionSignal.signal()
    }
    await withRunCancellationHandler {
      await withTaskCancellationHandler {
        await decisionSignal.waitUntilResolved()
      } onCancel: {
        if self.followsTask { self.cancelLikeParent() }
      }
    } onCancel: {
      task.cancel()
      decisionSignal.cancel()
    }
  }

  /// Advances the run after a decision about its conditions.
  private func conditionsDecided(_ evaluation: ConditionEvaluation) {
    let outcome: RunOutcome.Failure? =
      switch evaluation {
      case .satisfied: nil
      case .ignored(let condition): .ignored(by: condition)
      case .failed(let condition, let error):
        .failed(
          ProcedureError(.conditionFailed, procedure: layerIdentity) {
            ($0.condition, $0.underlying) = (condition, error)
          })
      }
    core.send { state, effects in
      // The evaluation continues until all conditions have ended (K1).
      if let outcome { return finishWithoutStart(outcome, interruptsStep: false, &state, &effects) }
      let step = state.machine.conditionsSatisfied(state.runs[self].member, &effects.next)
      QueueCore.deliver(step, to: self, &state.runs, &effects)
    }
  }
}
