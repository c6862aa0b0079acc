/* pthread.h - threads that clone starts. */
#ifndef JW_MOCK_PTHREAD_H
#define JW_MOCK_PTHREAD_H

typedef struct mock_thread *pthread_t;
typedef void pthread_attr_t;
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument);
int pthread_join(pthread_t thread, void **result);

#endif
