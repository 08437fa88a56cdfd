// SPDX-License-Identifier: Apache-2.0
// The adapter of ../adapter-c in Rust, without cargo and without crates: the C ABI needs none. Works with rustc 1.63.
mod wharf;

use std::mem::size_of;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};
use wharf::*;

// The host puts the pointer to its services here before it calls anything.
static HOST: AtomicPtr<Host> = AtomicPtr::new(null_mut());

// A simulation whose worker was lost continues where it was last seen, instead of from the start.
unsafe extern "C" fn mirror(call: *const Call, workload: *const Value, mirror: *mut Value) -> Outcome {
    let host = &*HOST.load(Relaxed);
    let steps = (host.integer)((host.find)(workload, text!("/status/completedSteps")), 0);
    if steps > 0 {
        (host.set_integer)(call, mirror, text!("/spec/startAtStep"), steps);
    }
    OK
}

const fn carried(pointer: Text, when: u32) -> Carried {
    Carried { pointer, when, ..Carried::NONE }
}

const fn rule(value: Text, phase: PhaseKind) -> PhaseRule {
    PhaseRule { pointer: text!("/status/conditions"), value, phase, ..PhaseRule::NONE }
}

const fn suspended(value: Text, reason: Text, message: Text) -> StatusChange {
    StatusChange { change: SET_CONDITION, when: ALWAYS, name: text!("Suspended"), value, reason, message }
}

static VERSIONS: Shared<[Text; 2]> = Shared([text!("v1"), null()]);
static CARRIED: Shared<[Carried; 4]> = Shared([
    carried(text!("/spec/suspend"), CARRY_ALWAYS),
    carried(text!("/spec/workers"), CARRY_ALWAYS),
    carried(text!("/spec/template"), CARRY_WHILE_SUSPENDED),
    Carried::NONE,
]);
// The host deletes mirrors; nodes are those of the worker cluster.
static REMOVED: Shared<[Text; 2]> = Shared([text!("/spec/ttlSecondsAfterFinished"), null()]);
static STATUS_REMOVED: Shared<[Text; 2]> = Shared([text!("/status/nodes"), null()]);
static COUNTS: Shared<[Text; 2]> = Shared([text!("/spec/workers"), null()]);
static PODS: Shared<[Pods; 2]> = Shared([
    Pods { templates: text!("/spec/template"), counts: COUNTS.0.as_ptr(), ..Pods::NONE },
    Pods::NONE,
]);
// A simulation without a mirror has no controller that would say that it is suspended.
static SUSPENDED_STATUS: Shared<[StatusChange; 2]> = Shared([
    suspended(text!("True"), text!("SuspendedBeforeStart"), text!("Suspended before it was placed")),
    StatusChange::NONE,
]);
static RESUMED_STATUS: Shared<[StatusChange; 2]> =
    Shared([suspended(text!("False"), text!("Resumed"), text!("Waits to be placed")), StatusChange::NONE]);
static PHASES: Shared<[PhaseRule; 4]> = Shared([
    rule(text!("Complete"), SUCCEEDED),
    rule(text!("Failed"), FAILED),
    rule(text!("Suspended"), SUSPENDED),
    PhaseRule::NONE,
]);

static SIMULATION: Shared<Kind> = Shared(Kind {
    group: text!("batch.example.com"),
    versions: VERSIONS.0.as_ptr(),
    kind: text!("Simulation"),
    plural: text!("simulations"),
    managed_by: text!("/spec/managedBy"),
    managed_by_builtin: text!("batch.example.com/simulation-controller"),
    suspend: text!("/spec/suspend"),
    carried: CARRIED.0.as_ptr(),
    removed: REMOVED.0.as_ptr(),
    pods: PODS.0.as_ptr(),
    status_removed: STATUS_REMOVED.0.as_ptr(),
    observed_generation: text!("/status/observedGeneration"),
    suspended_status: SUSPENDED_STATUS.0.as_ptr(),
    resumed_status: RESUMED_STATUS.0.as_ptr(),
    phases: PHASES.0.as_ptr(),
    finished_at: text!("/status/completionTime"),
    mirror: Some(mirror),
    ..Kind::NONE
});

static KINDS: Shared<[*const Kind; 2]> = Shared([&SIMULATION.0, null()]);

#[no_mangle]
#[allow(non_upper_case_globals)]
pub static wharf_module_v1: Shared<Module> = Shared(Module {
    size: size_of::<Module>(),
    abi_major: ABI_MAJOR,
    abi_minor: 0,
    name: text!("simulation"),
    version: text!("1.0.0"),
    kinds: KINDS.0.as_ptr(),
    host: &HOST as *const AtomicPtr<Host> as *mut *const Host,
    settings: null(),
    start: None,
    score: None,
});
