// SPDX-License-Identifier: Apache-2.0
#include "core/serve/http/tasks.h"

#include "core/base/clock.h"
#include "core/base/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define STACK ((size_t)256 * 1024)
#define IDLE_S 10 // how long a thread waits for more work

struct task {
    struct task *next;
    void (*run)(void *arg);
    void *arg;
};

struct tasks {
    pthread_mutex_t lock;
    pthread_cond_t work, ended;
    struct task *first, **end;
    size_t queued, max_queued;
    size_t threads, max_threads, idle;
    bool stopping;
};

struct error *tasks_new(size_t max_threads, size_t max_queued, struct tasks **out) {
    struct tasks *tasks = calloc(1, sizeof *tasks);
    if (!tasks)
        return error_no_memory();
    pthread_mutex_init(&tasks->lock, NULL);
    clock_condition_init(&tasks->work);
    pthread_cond_init(&tasks->ended, NULL);
    tasks->end = &tasks->first;
    tasks->max_threads = max_threads;
    tasks->max_queued = max_queued;
    *out = tasks;
    return NULL;
}

// Waits for a task. NULL: the thread is to end. Under the lock.
static struct task *take(struct tasks *tasks) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += IDLE_S;
    tasks->idle++;
    while (!tasks->first && !tasks->stopping)
        if (pthread_cond_timedwait(&tasks->work, &tasks->lock, &until) == ETIMEDOUT)
            break;
    tasks->idle--;
    struct task *task = tasks->first;
    if (!task)
        return NULL;
    tasks->first = task->next;
    if (!tasks->first)
        tasks->end = &tasks->first;
    tasks->queued--;
    return task;
}

static void *run_tasks(void *arg) {
    struct tasks *tasks = arg;
    struct task *task;
    pthread_mutex_lock(&tasks->lock);
    while ((task = take(tasks))) {
        pthread_mutex_unlock(&tasks->lock);
        task->run(task->arg);
        free(task);
        pthread_mutex_lock(&tasks->lock);
    }
    tasks->threads--;
    pthread_cond_signal(&tasks->ended);
    pthread_mutex_unlock(&tasks->lock);
    return NULL;
}

// Whether there is, or will be, a thread for what is queued. Under the lock.
static bool has_thread(struct tasks *tasks) {
    if (tasks->queued < tasks->idle || tasks->threads == tasks->max_threads)
        return tasks->threads > 0;
    if (thread_start("serve", STACK, run_tasks, tasks, NULL) != 0)
        return false;
    tasks->threads++;
    return true;
}

bool tasks_submit(struct tasks *tasks, void (*run)(void *arg), void *arg) {
    struct task *task = malloc(sizeof *task);
    if (!task)
        return false;
    *task = (struct task){.run = run, .arg = arg};
    pthread_mutex_lock(&tasks->lock);
    bool taken = !tasks->stopping && tasks->queued < tasks->max_queued && has_thread(tasks);
    if (taken) {
        *tasks->end = task;
        tasks->end = &task->next;
        tasks->queued++;
        pthread_cond_signal(&tasks->work);
    }
    pthread_mutex_unlock(&tasks->lock);
    if (!taken)
        free(task);
    return taken;
}

void tasks_stop(struct tasks *tasks) {
    pthread_mutex_lock(&tasks->lock);
    tasks->stopping = true;
    pthread_cond_broadcast(&tasks->work);
    pthread_mutex_unlock(&tasks->lock);
}

void tasks_drain(struct tasks *tasks) {
    pthread_mutex_lock(&tasks->lock);
    while (tasks->threads > 0)
        pthread_cond_wait(&tasks->ended, &tasks->lock);
    pthread_mutex_unlock(&tasks->lock);
}

void tasks_free(struct tasks *tasks) {
    if (!tasks)
        return;
    pthread_cond_destroy(&tasks->work);
    pthread_cond_destroy(&tasks->ended);
    pthread_mutex_destroy(&tasks->lock);
    free(tasks);
}
